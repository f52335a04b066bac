"""A process may die at any request of a turn to the store: the one that comes after it makes up for that, exactly."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from redis.asyncio import Redis

from bot.channels import Arrival
from bot.errors import TryAgain
from bot.providers.scripted import Step
from bot.store import Depths, Store
from bot.transcript import Author, Message, Text, ToolCall
from tests.bot.crashes import Conversation, Process, Stage, Story, Think
from tests.bot.evidence import Ending, Record, ending_of, owed, record_of
from tests.fakes.cut_wire import Cut

ANSWER, SORRY = "Heard: Tokyo?", "The language model does not answer at the moment. Please try again in a little while."
RESET = "Done: I have forgotten this conversation. What shall we talk about?"


def says(message_id: str, text: str) -> Arrival:
    return Arrival(Message(message_id, "user", (Text(text),), 1_000, Author("u1")), "address")


def takes_back(message_id: str, target: str) -> Arrival:
    return Arrival(says(message_id, "").message, event="unsent", target=target)


def edits(message_id: str, text: str, target: str) -> Arrival:
    return Arrival(says(message_id, text).message, event="edited", target=target)


def picture(message_id: str, text: str) -> Arrival:
    return Arrival(says(message_id, text).message, album="two of them", album_size=2)


def answers(messages: Sequence[Message]) -> Step:
    return Step("Heard: " + " ".join(message.text for message in messages if message.role == "user"))


def asks(tool: str, *numbers: int, then: Think = answers) -> Think:
    calls = tuple(ToolCall("", tool, {"n": n}) for n in numbers)

    def think(messages: Sequence[Message]) -> Step:
        is_open = TOKYO.message.text in [message.text for message in messages]
        is_known = any(message.role == "tool" for message in messages)
        return Step(calls=calls) if is_open and not is_known else then(messages)

    return think


def is_down(messages: Sequence[Message]) -> Step:
    return Step(error=TryAgain("model_down", "503"))


TOKYO = says("m1", "Tokyo?")

# A story, what is answered, and what is remembered.
STORIES = {
    "a plain answer": (Story((TOKYO,), answers), [ANSWER], ["Tokyo?", ANSWER]),
    "two calls side by side": (Story((TOKYO,), asks("lookup", 1, 2)), [ANSWER], ["Tokyo?", ANSWER]),
    "two calls not to be made twice": (Story((TOKYO,), asks("stamp", 1, 2)), [ANSWER], ["Tokyo?", ANSWER]),
    "a message that joins": (
        Story((TOKYO,), asks("lookup", 1), during=("record", says("m2", "And Osaka?"))),
        ["Heard: Tokyo? And Osaka?"],
        ["Tokyo?", "And Osaka?", "Heard: Tokyo? And Osaka?"],
    ),
    "a message for the next turn": (
        Story((TOKYO,), answers, during=("record", says("m2", "And Osaka?"))),
        [ANSWER, "Heard: Tokyo? And Osaka?"],
        ["Tokyo?", ANSWER, "And Osaka?", "Heard: Tokyo? And Osaka?"],
    ),
    "an edit": (
        Story((TOKYO,), asks("lookup", 1), during=("record", edits("e1", "Kyoto?", "m1"))),
        ["Heard: Kyoto?"],
        ["Kyoto?", "Heard: Kyoto?"],
    ),
    "an edit of what was answered": (
        Story((TOKYO,), asks("lookup", 1), (says("m0", "Nara?"),), ("record", edits("e1", "Kobe?", "m0"))),
        ["Heard: Nara?", "Heard: Kobe? Tokyo?"],
        ["Kobe?", "Heard: Nara?", "Tokyo?", "Heard: Kobe? Tokyo?"],
    ),
    "a message taken back": (
        Story((TOKYO, says("m2", "Oops")), asks("lookup", 1), during=("record", takes_back("e1", "m2"))),
        [ANSWER],
        ["Tokyo?", ANSWER],
    ),
    "everything taken back": (
        Story((TOKYO,), asks("lookup", 1), during=("record", takes_back("e1", "m1"))),
        [],
        [],
    ),
    "a command": (
        Story((says("r1", "/reset"),), lambda messages: Step("Hello!"), (says("m0", "Nara?"),), None, (TOKYO,)),
        ["Hello!", RESET, "Hello!"],
        ["/reset", RESET, "Tokyo?", "Hello!"],
    ),
    "an apology": (Story((TOKYO,), asks("lookup", 1, then=is_down)), [SORRY], ["Tokyo?", SORRY]),
    "an album": (
        Story((picture("m1", "one"),), answers, during=("begin", picture("m2", "two"))),
        ["Heard: one two"],
        ["one", "two", "Heard: one two"],
    ),
    "a delivery postponed": (Story((TOKYO,), answers, busy=2), [ANSWER], ["Tokyo?", ANSWER]),
}


async def play(conversation: Conversation, cut: Cut) -> tuple[Process, Record, Process]:
    """The process that may die, what it has left on record, and the process after it."""
    story = conversation.story
    if story.earlier:
        await conversation.hear(*story.earlier)
        await conversation.attend()
    before = await record_of(conversation)
    await conversation.hear(*story.said)
    conversation.to_come = story.during
    first = await conversation.attend(cut)
    record = await record_of(conversation)
    assert await conversation.will_be_found()
    await conversation.hear(*story.afterwards)
    await conversation.expire()
    return first, record.since(before), await conversation.attend()


async def whole(conversation: Conversation) -> tuple[Ending, int]:
    """What becomes of the story where nobody dies, as if the last process had done all of it; and its requests."""
    first, record, last = await play(conversation, Cut())
    ending = await ending_of(conversation, last, record)
    ending = replace(ending, asked=first.asked + last.asked, called=sorted(first.called + last.called))
    return ending, len(first.requests)


async def death(conversation: Conversation, cut: Cut, undisturbed: Ending) -> bool:
    """Whether there was one; then everything must be as if there had been none."""
    first, record, last = await play(conversation, cut)
    if not first.is_dead:
        return False
    where = f"{conversation.name}, {' '.join(first.requests)}"
    due = owed(undisturbed, record, more_to_come=bool(conversation.story.afterwards))
    assert await ending_of(conversation, last, record) == due, where
    assert first.asked - len(record.said) in (0, 1), where  # one question may have been without its answer
    assert max(Counter(first.called).values(), default=0) <= 1, where
    assert all(record.outbox.get(delivery.id, 1) for delivery in first.delivered), where  # known to have been tried
    return True


@pytest.mark.parametrize("carried_out", [False, True], ids=["before the request", "after the request"])
@pytest.mark.parametrize("name", STORIES)
async def test_a_death_changes_nothing(
    name: str, carried_out: bool, store: Store, redis: Redis, store_url: str
) -> None:
    """One answer, one turn in the history, nothing asked or called again that was on record, nothing left to do."""
    story, answered, remembered = STORIES[name]

    stage = Stage(store, redis, store_url)

    async def dies(point: int) -> bool:
        return await death(Conversation(f"mailbox:{point}", story, stage), Cut(point, carried_out), undisturbed)

    undisturbed, requests = await whole(Conversation("mailbox:0", story, stage))
    assert (undisturbed.answers, undisturbed.past) == (answered, remembered)
    deaths, points = 0, range(1, requests + 2)
    while all(died := await asyncio.gather(*(dies(point) for point in points))):
        points = range(points[-1] + 1, points[-1] + 2)  # a slow machine renews its lease meanwhile
    deaths += sum(died)
    assert deaths > 8
    assert await store.depths() == Depths(due=0, dead_letters=0)


@pytest.mark.parametrize("is_sent_again", [True, False], ids=["sent again", "sent once"])
@pytest.mark.parametrize(
    ("cut", "is_kept"),
    [(Cut(1), False), (Cut(1, carried_out=True), True), (Cut(), True)],
    ids=["before the write", "after the write", "before the hint"],
)
async def test_a_message_survives_whoever_takes_it_in(
    cut: Cut, is_kept: bool, is_sent_again: bool, store: Store, redis: Redis, store_url: str
) -> None:
    """The platform has had no 200: what is kept is answered with or without its second copy, and once."""
    stage = Stage(store, redis, store_url)
    conversation = Conversation("mailbox:door", Story((), answers), stage)
    assert await conversation.knock(TOKYO, cut) == ["accept"]
    if is_sent_again:
        assert await stage.accept(conversation.name, TOKYO) is not is_kept
    last = await conversation.attend()
    words = [ANSWER] if is_kept or is_sent_again else []
    past = ["Tokyo?", *words] if words else []
    ending = Ending(answers=words, past=past, results={}, asked=len(words), called=[])
    assert await ending_of(conversation, last, await record_of(conversation)) == ending
