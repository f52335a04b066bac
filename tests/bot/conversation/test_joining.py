"""What arrives while a turn runs joins its next request; what cannot, waits for its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from functools import partial

import pytest
from redis.asyncio import Redis

from bot.agent.turn import TurnUpdate
from bot.channels import InboundEvent
from bot.conversation.answering import Attempt, ConversationPorts
from bot.conversation.approvals import Approvals
from bot.conversation.edits import HistoryEditor
from bot.conversation.inbound import InboundMessages
from bot.live_events import Joined, NoWatcher, TurnStarted, Watcher
from bot.providers.scripted import Step
from bot.store import JournalledTurn, Store
from bot.texts import load
from bot.transcript import ToolResult
from tests.bot.conversation.held_turns import Held, asked, calling, cut_off, held, messages
from tests.bot.harness import HERE, Harness, Mailbox, edited, unsent, words
from tests.bot.store.turns import key
from tests.fakes.tools import tool_map
from tests.waiting import until_true


async def test_a_message_joins_between_two_steps(store: Store) -> None:
    """Who adds "and Osaka?" gets one answer to both, where the newest message wants it."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("Both are sunny.")])
    await harness.receive("Tokyo?", "m1", "token-1")
    async with held(harness, first):
        await harness.receive("And Osaka?", "m2", "token-2")
    assert asked(harness) == [
        ("user", "Tokyo?"),
        ("model", ""),
        ("tool", ""),
        ("user", "And Osaka?"),
    ]
    assert messages(harness)[-1].context == "[Thursday 1970-01-01 00:00 UTC, mailbox, 1:1]"
    assert [(sent.reply.text, sent.address) for sent in harness.box.delivered] == [
        ("Both are sunny.", "token-2")
    ]
    assert await harness.past() == ["Tokyo?", "", "", "And Osaka?", "Both are sunny."]
    assert await store.leases.due(10) == []


async def test_several_messages_join_each_as_its_own(store: Store) -> None:
    """In their order, and those who watch are told once of each."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("All of it.")])
    await harness.receive("one", "m1")
    async with held(harness, first):
        await harness.receive("two", "m2")
        await harness.receive("three", "m3")
    assert asked(harness)[-2:] == [("user", "two"), ("user", "three")]
    reported = [event for event in harness.box.seen if isinstance(event, TurnStarted | Joined)]
    assert [event.user_ids for event in reported] == [("m1",), ("m2", "m3")]


async def test_a_message_after_the_last_request_gets_the_next_turn(store: Store) -> None:
    """It cannot be in an answer that is being given already."""
    last = Step("One", gate=asyncio.Event())
    harness = Harness(store, [calling(), last, Step("Two")])
    await harness.receive("first", "m1")
    async with held(harness, last):
        await harness.receive("second", "m2")
    assert harness.box.texts == ["One", "Two"]
    assert await harness.past() == ["first", "", "", "One", "second", "Two"]


class Unread(InboundMessages):
    """An inbox that is looked at, and holds nothing."""

    looks = 0

    async def check(self, watcher: Watcher, *, only_changes: bool = False) -> TurnUpdate:
        self.looks += 1
        return TurnUpdate()


async def test_the_inbox_is_read_only_where_something_may_have_come(store: Store) -> None:
    """At first, and when a record has told so, which a later record with nothing to tell does not
    undo."""
    await store.inbox.accept(HERE, "m1", b"{}")
    lease = await store.leases.acquire(HERE)
    assert lease is not None
    await store.journal.begin(lease, "turn_1")
    journalled = JournalledTurn("turn_1", 1, [], is_resumed=True)
    services = Harness(store, []).runner.services
    inbound = Unread(services, lease, HistoryEditor(store, 30))
    attempt = Attempt(lease, services.channels["mailbox"], journalled, inbound, quietly=True)
    ports = ConversationPorts(services, attempt, Approvals(services), NoWatcher())

    async def looks(*, certain: bool = False) -> int:
        await ports.check_inbox(certain=certain, only_changes=False)
        return inbound.looks

    await ports.record(ToolResult("c1", "echo", {}))
    assert [await looks(), await looks(), await looks(certain=True)] == [1, 1, 2]
    await ports.record(ToolResult("c1", "echo", {}))
    assert await looks() == 2
    await store.inbox.accept(HERE, "m2", b"{}")
    await ports.record(ToolResult("c1", "echo", {}))
    assert [await looks(), await looks()] == [3, 3]


HELP, RESET, FORGET = (
    "I am Kaiwa.",
    "Done: I have deleted this conversation",
    "Done: I have deleted",
)


@pytest.mark.parametrize(
    ("command", "answer", "past"),
    [
        ("/help", HELP, ["first", "", "", "One", "/help", HELP, "then?", "Two"]),
        ("/reset", RESET, ["/reset", RESET, "then?", "Two"]),
        ("forget me", FORGET, ["then?", "Two"]),
    ],
)
async def test_a_command_waits_and_what_follows_waits_behind_it(
    store: Store, command: str, answer: str, past: list[str]
) -> None:
    """A turn under way is in no state to be forgotten; what was said after the command is answered
    after it."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("One"), Step("Two")])
    await harness.receive("first", "m1")
    async with held(harness, first):
        await harness.receive(command, "m2")
        await harness.receive("then?", "m3")
    assert [("user", "then?") in asked(harness, request) for request in range(3)] == [
        False,
        False,
        True,
    ]
    assert starts(harness.box.texts, "One", answer, "Two")
    assert starts(await harness.past(), *past)


def starts(texts: list[str], *beginnings: str) -> bool:
    """Whether the texts are as many, and begin so."""
    return all(text.startswith(start) for text, start in zip(texts, beginnings, strict=True))


async def test_leaving_in_the_middle_lets_the_turn_end_and_deletes_everything(store: Store) -> None:
    """Who comes back at once begins anew: not even that message is lost."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("One"), Step("Welcome back")])
    await harness.receive("hi", "m1")
    async with held(harness, first):
        await harness.arrive(InboundEvent(words("l1", ""), event="left"))
        await harness.receive("I am back", "m2")
    assert (harness.box.texts, await harness.past()) == (
        ["One", "Welcome back"],
        ["I am back", "Welcome back"],
    )


class Interrupting(Mailbox):
    """Hears something more while it prepares our own sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.interrupt: Callable[[], Awaitable[None]] | None = None

    async def enrich(
        self, conversation: str, events: Sequence[InboundEvent], *, is_new: bool
    ) -> list[InboundEvent]:
        if self.interrupt and events[0].event == "canned":
            await self.interrupt()
        return list(events)


async def test_a_message_behind_a_reset_that_is_being_obeyed_is_not_lost(store: Store) -> None:
    """It came in after the turn began, and before the history was deleted."""
    box = Interrupting()
    harness = Harness(store, [Step("Hello!")], box)
    box.interrupt = partial(harness.receive, "a new beginning", "m2")
    await harness.arrive(InboundEvent(words("t1", ""), event="canned", target="command.help"))
    await harness.receive("/reset", "m1")
    await harness.runner.process(HERE)
    assert asked(harness)[-1] == ("user", "a new beginning")
    assert harness.box.texts[-1] == "Hello!"


def picture(number: int) -> InboundEvent:
    return InboundEvent(words(f"p{number}", f"picture {number}"), album="album", album_size=3)


@pytest.mark.long
async def test_a_stop_ends_a_turn_that_waits_for_an_albums_other_pictures(store: Store) -> None:
    """What waits joins by the same rules at a turn's start as in its middle: nothing is asked of
    the model."""
    harness = Harness(store, [])
    await harness.arrive(picture(0))
    processing = asyncio.create_task(harness.runner.process(HERE))
    await until_true(lambda: _has_journal(store))
    await harness.receive("/stop", "s1")
    await processing
    assert harness.box.texts == [load().get("apology.stopped", "en")]
    assert await harness.past() == ["picture 0", "/stop", *harness.box.texts]


@pytest.mark.parametrize("crashes", [False, True])
async def test_what_follows_a_stop_is_not_stopped(store: Store, crashes: bool) -> None:
    """Both came in while the model thought, and the stop is found before anybody was told of it."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("Sunny.")])
    await harness.receive("Rain?", "m1")
    async with held(harness, first) if not crashes else nullcontext():
        if crashes:
            await cut_off(harness, first.at_gate)
        await harness.receive("/stop", "s1")
        await harness.receive("Sun?", "m2")
    await harness.runner.process(HERE)
    assert harness.box.texts == [load().get("apology.stopped", "en"), "Sunny."]


async def _has_journal(store: Store) -> bool:
    return bool(await store.journal.read(HERE))


async def test_an_album_that_arrives_in_the_middle_joins_whole(store: Store, redis: Redis) -> None:
    """Its pictures come one by one; the turn waits a moment for the others."""
    first = calling(held=True)
    harness = Harness(store, [first, Step("Three pictures.")])
    await harness.receive("look", "m1")
    async with held(harness, first):
        await harness.arrive(picture(1))
        others = asyncio.create_task(arrive_later(harness, redis))
    await others
    assert [text for role, text in asked(harness) if role == "user"] == [
        "look",
        "picture 1",
        "picture 2",
        "picture 3",
    ]
    assert harness.box.texts == ["Three pictures."]


async def arrive_later(harness: Harness, redis: Redis) -> None:
    """The other two, each when the turn has already taken in the one before."""

    async def is_taken_in() -> bool:
        return not await redis.exists(key("inbox", HERE))

    for number in (2, 3):
        await until_true(is_taken_in)
        await harness.arrive(picture(number))


async def test_after_a_crash_what_had_joined_stands_in_its_place(store: Store) -> None:
    """And is told to those who watch; what came in since joins before the model is asked again."""
    first, second = calling("c1", held=True), Step("never", gate=asyncio.Event())
    harness = Harness(store, [first, second])
    await harness.receive("one", "m1", "token-1")
    cutting = asyncio.create_task(cut_off(harness, second.at_gate))
    await first.at_gate.wait()
    await harness.receive("two", "m2", "token-2")
    assert first.gate is not None
    first.gate.set()
    await cutting
    await harness.receive("three", "m3", "token-3")
    then = Harness(store, [Step("All three.")])
    await then.runner.process(HERE)
    assert [text for role, text in asked(then) if role == "user"] == ["one", "two", "three"]
    assert [message.role for message in messages(then)] == ["user", "model", "tool", "user", "user"]
    reported = [
        event.user_ids for event in then.box.seen if isinstance(event, TurnStarted | Joined)
    ]
    assert reported == [("m1",), ("m2",), ("m3",)]
    assert [sent.address for sent in then.box.delivered] == ["token-3"]


async def test_a_turn_that_is_gone_on_with_before_its_first_step_takes_in_what_has_come(
    store: Store,
) -> None:
    """Nothing has been said yet, so there is one answer to all."""
    first = Step("never", gate=asyncio.Event())
    harness = Harness(store, [first])
    await harness.receive("one", "m1")
    await cut_off(harness, first.at_gate)
    await harness.receive("two", "m2")
    then = Harness(store, [Step("Both.")])
    await then.runner.process(HERE)
    assert asked(then) == [("user", "one"), ("user", "two")]
    assert then.box.texts == ["Both."]


@pytest.mark.parametrize(
    ("change", "words"), [(unsent("e1", "m2"), ["one"]), (edited("e1", "m2", "2"), ["one", "2"])]
)
async def test_a_turn_that_is_gone_on_with_finds_changes_with_their_messages(
    store: Store, change: InboundEvent, words: list[str]
) -> None:
    """Both came in while nobody had the turn."""
    first = Step("never", gate=asyncio.Event())
    harness = Harness(store, [first])
    await harness.receive("one", "m1")
    await cut_off(harness, first.at_gate)
    await harness.receive("two", "m2")
    await harness.arrive(change)
    then = Harness(store, [Step("Answered.")])
    await then.runner.process(HERE)
    assert [text for _, text in asked(then)] == words
    assert await then.past() == [*words, "Answered."]


async def test_an_open_call_comes_before_what_has_come(store: Store) -> None:
    """No message stands between a call and its result."""
    tool = Held()
    harness = Harness(store, [calling("c1", "held")], tools=tool_map(tool))
    await harness.receive("one", "m1")
    await cut_off(harness, tool.called)
    await harness.receive("two", "m2")
    then = Harness(store, [Step("Both.")])
    await then.runner.process(HERE)
    assert asked(then) == [("user", "one"), ("model", ""), ("tool", ""), ("user", "two")]
