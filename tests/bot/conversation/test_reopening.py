"""What is edited or taken back a moment after its answer was committed: nothing more of that answer
is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from bot.channels import AssertLease, Delivery, InboundEvent, Reply
from bot.conversation.history import read_record
from bot.conversation.inbound import MOST_CHANGES
from bot.conversation.limits import Limits
from bot.errors import DeliverLater, DeliveryRefused
from bot.providers.scripted import Step
from bot.store import Store
from bot.store.keys import MOMENT_S, Keys
from bot.transcript import Media, Quote, Summary, Text, encode
from tests.bot.conversation.held_turns import asked, calling, held
from tests.bot.harness import HERE, Harness, Mailbox, edited, unsent, words
from tests.bot.store.turns import leased


class Pieces(Mailbox):
    """Sends each word as a message; something may happen while one is sent."""

    def __init__(self, *, takes_back: bool = False) -> None:
        super().__init__()
        self.takes_back = takes_back
        self.meanwhile: dict[str, Callable[[], Awaitable[None]]] = {}
        self.shown: dict[str, str] = {}

    def split(self, reply: Reply) -> list[Reply]:
        return [Reply(word) for word in reply.text.split()] if reply.takes_back is None else [reply]

    async def deliver(
        self, conversation: str, delivery: Delivery, assert_lease: AssertLease
    ) -> int:
        if doing := self.meanwhile.pop(delivery.reply.text, None):
            await doing()
        shown_at = await super().deliver(conversation, delivery, assert_lease)
        if delivery.reply.takes_back is None:
            self.shown[delivery.id] = delivery.reply.text
        for delivery_id in delivery.reply.takes_back or ():
            self.shown.pop(delivery_id, None)
        return shown_at

    @property
    def words(self) -> list[str]:
        """What people see."""
        return list(self.shown.values())


async def answered(harness: Harness, box: Pieces, word: str, *events: InboundEvent) -> None:
    """A question whose answer is being sent as these events come in, at one of its words."""
    box.meanwhile[word] = partial(harness.arrive, *events)
    await harness.receive("Wether?", "m1", "token-1")
    await harness.runner.process(HERE)


@pytest.mark.parametrize("takes_back", [True, False])
async def test_the_rest_of_an_answer_is_not_sent(store: Store, takes_back: bool) -> None:
    """The question was taken back after the first piece, which is deleted where that is
    possible."""
    box = Pieces(takes_back=takes_back)
    harness = Harness(store, [Step("one two three")], box)
    await answered(harness, box, "one", unsent("e1", "m1"))
    assert box.words == ([] if takes_back else ["one"])
    assert (len(harness.model.requests), await harness.past()) == (1, [])
    assert await store.leases.due(10) == []


@pytest.mark.parametrize("takes_back", [True, False])
async def test_an_edited_question_is_answered_anew(store: Store, takes_back: bool) -> None:
    """In place of what was still to come of the first answer."""
    box = Pieces(takes_back=takes_back)
    harness = Harness(store, [Step("one two three"), Step("anew")], box)
    await answered(harness, box, "two", edited("e1", "m1", "Weather?"))
    assert box.words == (["anew"] if takes_back else ["one", "two", "anew"])
    assert (asked(harness), await harness.past()) == ([("user", "Weather?")], ["Weather?", "anew"])
    assert box.delivered[-1].address == "token-1"
    assert await store.leases.due(10) == []


async def test_calls_are_not_made_again(store: Store) -> None:
    """The turn goes on from its journal, with their results."""
    box = Pieces(takes_back=True)
    harness = Harness(store, [calling(), Step("one two"), Step("anew")], box)
    await answered(harness, box, "one", edited("e1", "m1", "Weather?"))
    assert asked(harness) == [("user", "Weather?"), ("model", ""), ("tool", "")]
    assert (box.words, await harness.past()) == (["anew"], ["Weather?", "", "", "anew"])


async def test_one_of_two_questions_is_taken_back(store: Store) -> None:
    """The other one gets an answer of its own."""
    box = Pieces()
    harness = Harness(store, [Step("one two"), Step("anew")], box)
    await harness.receive("Oops", "m0")
    await answered(harness, box, "one", unsent("e1", "m0"))
    assert (asked(harness), box.words) == ([("user", "Wether?")], ["one", "anew"])


@pytest.mark.parametrize("is_unsent", [True, False])
async def test_a_whole_answer_is_deleted_a_moment_later(store: Store, is_unsent: bool) -> None:
    """Where the channel can; an edited question is answered anew."""
    box = Pieces(takes_back=True)
    harness = Harness(store, [Step("one two"), Step("anew")], box)
    await answered(
        harness, box, "two", unsent("e1", "m1") if is_unsent else edited("e1", "m1", "Weather?")
    )
    assert box.words == ([] if is_unsent else ["anew"])
    assert await harness.past() == ([] if is_unsent else ["Weather?", "anew"])


async def test_a_whole_answer_stays_where_nothing_can_be_deleted(store: Store) -> None:
    """Nothing more follows; the history has the change."""
    box = Pieces()
    harness = Harness(store, [Step("one two")], box)
    await answered(harness, box, "two", edited("e1", "m1", "Weather?"))
    assert (box.words, await harness.past()) == (["one", "two"], ["Weather?", "one two"])


async def test_later_an_answer_stays(store: Store, redis: Redis) -> None:
    """People have read it: a change reaches the history only."""
    box = Pieces(takes_back=True)
    harness = Harness(store, [Step("one two")], box)
    await harness.receive("Wether?", "m1")
    await harness.runner.process(HERE)
    assert 0 < await redis.ttl(Keys(HERE).answered) <= MOMENT_S
    await redis.delete(Keys(HERE).answered)
    await harness.arrive(edited("e1", "m1", "Weather?"))
    await harness.runner.process(HERE)
    assert (box.words, await harness.past()) == (["one", "two"], ["Weather?", "one two"])


async def test_a_change_of_another_message_leaves_the_answer(store: Store) -> None:
    """Both pieces arrive."""
    box = Pieces(takes_back=True)
    harness = Harness(store, [Step("first"), Step("one two")], box)
    await harness.receive("earlier", "m0")
    await harness.runner.process(HERE)
    await answered(harness, box, "one", unsent("e1", "m0"))
    assert (box.words, await harness.past()) == (["first", "one", "two"], ["Wether?", "one two"])


async def test_an_answer_that_waits_is_not_sent(store: Store) -> None:
    """The platform was away; by the next attempt the question is gone."""
    box = Pieces()
    box.failures.append(DeliverLater("busy", after=60))
    harness = Harness(store, [Step("one two")], box)
    await harness.receive("Oops", "m1")
    await harness.runner.process(HERE)
    await harness.arrive(unsent("e1", "m1"))
    await harness.runner.process(HERE)
    assert (box.words, await harness.past(), await store.outbox.read(HERE)) == ([], [], [])
    assert await store.leases.due(10) == []


async def test_an_older_answer_that_waits_is_removed(store: Store) -> None:
    """Another one waits behind it, and stays."""
    for takes_back in (True, False):
        box = Pieces(takes_back=takes_back)
        box.failures.append(DeliverLater("busy", after=60))
        harness = Harness(store, [Step("one"), Step("two")], box)
        for number in (1, 2):
            await harness.receive("Oops", f"m{number}{takes_back}")
            await harness.runner.process(HERE)
        assert len(await store.outbox.read(HERE)) == 2
        await harness.arrive(unsent(f"e1{takes_back}", f"m1{takes_back}"))
        await harness.runner.process(HERE)
        assert box.words == ["two"]
        assert await store.outbox.read(HERE) == []


@pytest.mark.parametrize("takes_back", [True, False])
async def test_an_older_answer_that_waits_is_given_anew_after_an_edit(
    store: Store, takes_back: bool
) -> None:
    """Its turn goes on from the history, with the picture that was quoted and without another call;
    the other stays."""
    box = Pieces(takes_back=takes_back)
    box.failures.append(DeliverLater("busy", after=60))
    harness = Harness(store, [calling(), Step("one"), Step("two"), Step("anew")], box)
    quote = Quote("p1", "[Picture 1 below]")
    question = replace(
        words("m1", "Wether?"), parts=(Media("p1", "image/png"), Text("Wether?")), quotes=(quote,)
    )
    await harness.arrive(InboundEvent(question, "token-1"))
    await harness.runner.process(HERE)
    await harness.receive("hi", "m2")
    await harness.runner.process(HERE)
    await harness.arrive(edited("e1", "m1", "Weather?"))
    await harness.runner.process(HERE)
    assert (box.words, await harness.past()) == (
        ["two", "anew"],
        ["hi", "two", "Weather?", "", "", "anew"],
    )
    assert asked(harness)[2:] == [("user", "Weather?"), ("model", ""), ("tool", "")]
    [again] = [one for one in harness.model.requests[-1].messages if one.id == "m1"]
    assert (again.quotes, [media.ref for media in again.quoted_pictures]) == ((quote,), ["p1"])
    assert box.delivered[-1].address == "token-1"
    assert await store.leases.due(10) == []


@pytest.mark.parametrize("others", [0, 1])
async def test_the_last_question_of_a_day_can_be_edited(store: Store, others: int) -> None:
    """It has been counted; without an answer anew the first one would be lost."""
    box = Pieces()
    box.failures.append(DeliverLater("busy", after=60))
    steps = Step("one"), *[Step("two")] * others, Step("anew"), Step("never asked for")
    harness = Harness(store, steps, box, limits=Limits(user_messages=1 + others))
    for number, text in enumerate(["Wether?", "hi"][: 1 + others], 1):
        await harness.receive(text, f"m{number}")
        await harness.runner.process(HERE)
    await harness.arrive(edited("e1", "m1", "Weather?"))
    await harness.runner.process(HERE)
    assert box.words == [*["two"] * others, "anew"]
    await harness.receive("One more?", "m9")
    await harness.runner.process(HERE)
    assert "limit" in box.words


async def test_an_edit_counts_though_an_operator_has_put_back_an_older_answer(store: Store) -> None:
    """It is the running turn's: waiting for that turn's end, which waits for the edit, would go on
    for ever."""
    box = Pieces()
    box.failures.append(DeliverLater("busy", after=60))
    first = Step("one", gate=asyncio.Event())
    harness = Harness(store, [first, Step("anew")], box)
    await harness.receive("Wether?", "m1")
    older = Delivery("turn_0_1", "turn_0", Reply("zero"), "token-1", answers=("m1",), changes=())
    async with held(harness, first):
        assert await store.outbox.post(HERE, older.id, encode(older))
        await harness.arrive(edited("e1", "m1", "Weather?"))
    assert (asked(harness), len(harness.model.requests)) == ([("user", "Weather?")], 2)
    assert await harness.past() == ["Weather?", "anew"]


async def test_a_summary_goes_with_the_turn_that_it_covers(store: Store) -> None:
    """Its words are about what was asked before the edit."""
    box = Pieces()
    box.failures.append(DeliverLater("busy", after=60))
    harness = Harness(store, [Step("one"), Step("two"), Step("anew")], box)
    for number in (1, 2):
        await harness.receive("Wether?", f"m{number}")
        await harness.runner.process(HERE)
    first, _ = await store.history.read(HERE, 2)
    lease = await leased(store, HERE)
    through = read_record(first).turn_id
    await store.history.summarise(lease, encode(Summary(through, 1, "m", "The old words")))
    await store.leases.release(lease)
    await harness.arrive(edited("e1", "m1", "Weather?"))
    await harness.runner.process(HERE)
    assert (await store.history.recall(HERE, 9)).summary == b""
    assert "The old words" not in str(harness.model.requests[-1].messages)


async def test_a_choice_that_reads_like_a_command_is_not_asked_again(store: Store) -> None:
    """A pressed choice such as "reset" is no command, and must not become one."""
    box = Pieces()
    box.failures.append(DeliverLater("busy", after=60))
    harness = Harness(store, [Step("one"), Step("two")], box)
    await harness.arrive(InboundEvent(words("m1", "reset"), choice=1))
    await harness.runner.process(HERE)
    await harness.receive("hi", "m2")
    await harness.runner.process(HERE)
    await harness.arrive(edited("e1", "m1", "Weather?"))
    await harness.runner.process(HERE)
    assert await harness.past() == ["Weather?", "one", "hi", "two"]
    assert len(await store.outbox.read(HERE)) == 2


async def test_an_answer_that_became_a_dead_letter_can_be_reopened_for_a_moment(
    store: Store, redis: Redis
) -> None:
    """As one that was delivered."""
    box = Pieces(takes_back=True)
    box.failures.append(DeliveryRefused("gone"))
    harness = Harness(store, [Step("one")], box)
    await harness.receive("Wether?", "m1")
    await harness.runner.process(HERE)
    assert 0 < await redis.ttl(Keys(HERE).answered) <= MOMENT_S


async def test_a_delivery_that_cannot_be_read_is_left_to_the_relay(store: Store) -> None:
    """The question is taken back all the same."""
    box = Pieces()
    box.failures.append(DeliverLater("busy", after=60))
    harness = Harness(store, [Step("one")], box)
    await harness.receive("Oops", "m1")
    await harness.runner.process(HERE)
    assert await store.outbox.post(HERE, "notice", b"{")
    await harness.arrive(unsent("e1", "m1"))
    await harness.runner.process(HERE)
    assert (box.words, await harness.past()) == ([], [])
    assert (await store.depths()).dead_letters == 1


async def test_a_history_that_has_gone_on_reopens_nothing(store: Store) -> None:
    """What is kept of a turn counts only while its entry is the newest one."""
    box = Pieces(takes_back=True)
    harness = Harness(store, [Step("one")], box)
    await harness.receive("Wether?", "m1")
    await harness.runner.process(HERE)
    [entry] = await store.history.read(HERE, 1)
    lease = await store.leases.acquire(HERE)
    assert lease is not None
    await store.history.rewrite(
        lease, {entry: entry.replace(b'"turn_id":"turn_', b'"turn_id":"other_')}
    )
    await store.leases.release(lease)
    await harness.arrive(edited("e1", "m1", "Weather?"))
    await harness.runner.process(HERE)
    assert (box.words, await harness.past()) == (["one"], ["Weather?", "one"])


async def test_a_reopened_turn_survives_its_process(store: Store) -> None:
    """The next one goes on with it."""
    box = Pieces(takes_back=True)
    first = Step("never", gate=asyncio.Event())
    harness = Harness(store, [Step("one two"), first], box)
    box.meanwhile["one"] = partial(harness.arrive, edited("e1", "m1", "Weather?"))
    await harness.receive("Wether?", "m1")
    processing = asyncio.create_task(harness.runner.process(HERE))
    async with asyncio.timeout(10):
        await first.at_gate.wait()
    processing.cancel()
    await asyncio.wait([processing])
    then = Harness(store, [Step("anew")], box)
    await then.runner.process(HERE)
    assert (asked(then), box.words, await then.past()) == (
        [("user", "Weather?")],
        ["anew"],
        ["Weather?", "anew"],
    )


@pytest.mark.parametrize(
    ("change", "shown", "past"),
    [
        (edited("late", "m1", "The last"), ["one"], ["The last", "one"]),
        (unsent("late", "m1"), [], []),
    ],
    ids=["edited", "unsent"],
)
async def test_who_edits_for_ever_keeps_the_last_answer(
    store: Store, change: InboundEvent, shown: list[str], past: list[str]
) -> None:
    """After ten changes an edit reopens nothing; a message taken back does."""
    box = Pieces(takes_back=True)
    harness = Harness(store, [Step("one")], box)
    await harness.receive("v0", "m1")
    await harness.arrive(
        *(edited(f"e{number}", "m1", f"v{number}") for number in range(MOST_CHANGES))
    )
    await harness.runner.process(HERE)
    await harness.arrive(change)
    await harness.runner.process(HERE)
    assert (box.words, await harness.past()) == (shown, past)


async def test_commands_are_not_run_again(store: Store) -> None:
    """A turn that has said more than the model's answer is not reopened."""
    box = Pieces(takes_back=True)
    harness = Harness(store, [Step("one")], box)
    await harness.receive("/help", "m0")
    await harness.receive("Wether?", "m1")
    await harness.runner.process(HERE)
    said = list(box.words)
    await harness.arrive(edited("e1", "m1", "Weather?"))
    await harness.runner.process(HERE)
    assert (box.words, len(harness.model.requests)) == (said, 1)


async def test_an_unreadable_answer_is_left(store: Store, redis: Redis) -> None:
    """The change reaches the history all the same."""
    box = Pieces(takes_back=True)
    harness = Harness(store, [Step("one")], box)
    await harness.receive("Wether?", "m1")
    await harness.runner.process(HERE)
    await redis.rpush(Keys(HERE).answered, b"answered 0:[]")
    await harness.arrive(edited("e1", "m1", "Weather?"))
    await harness.runner.process(HERE)
    assert (box.words, await harness.past()) == (["one"], ["Weather?", "one"])


async def test_what_came_besides_waits_for_the_reopened_turn(store: Store) -> None:
    """Other people's messages keep their order, and get their own answers."""
    box = Pieces(takes_back=True)
    harness = Harness(store, [Step("one"), Step("anew"), Step("other")], box)
    await harness.receive("Wether?", "m1")
    await harness.runner.process(HERE)
    await harness.arrive(edited("e1", "m1", "Weather?"))
    await harness.arrive(InboundEvent(words("m2", "Hello", "u2"), group=True))
    await harness.runner.process(HERE)
    assert (box.words, await harness.past()) == (
        ["anew", "other"],
        ["Weather?", "anew", "Hello", "other"],
    )


async def test_forgetting_leaves_nothing_that_could_be_reopened(store: Store, redis: Redis) -> None:
    """Neither the question before it nor the wish itself."""
    harness = Harness(store, [Step("one")], Pieces(takes_back=True))
    for number, text in enumerate(("A secret", "/forget me")):
        await harness.receive(text, f"m{number}")
        await harness.runner.process(HERE)
        assert await redis.exists(Keys(HERE).answered) == 1 - number
