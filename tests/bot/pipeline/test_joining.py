"""What arrives while a turn runs joins its next request; what cannot, waits for its end."""

from __future__ import annotations

import asyncio

import pytest
from redis.asyncio import Redis

from bot.agent.turn import TurnUpdate
from bot.channels import Album, InboundEvent, NoWatcher
from bot.live_events import Watcher
from bot.pipeline.answer import ConversationPorts
from bot.pipeline.prepare import Attempt
from bot.providers.scripted import Step
from bot.store import JournalledTurn, Store
from bot.transcript import ToolResult
from tests.bot.harness import HERE, Harness, edited, unsent, words
from tests.bot.pipeline.held_turns import Held, asked, calling, cut_off, held, messages
from tests.bot.store.turns import key, leased
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


class Unread(Attempt):
    """An inbox that is looked at, and holds nothing."""

    looks = 0

    async def check(self, watcher: Watcher, *, only_changes: bool = False) -> TurnUpdate:
        self.looks += 1
        return TurnUpdate()


async def test_the_inbox_is_read_only_where_something_may_have_come(store: Store) -> None:
    """At first, and when a record has told so, which a later record with nothing to tell does not
    undo."""
    await store.inbox.accept(HERE, "m1", b"{}")
    lease = await leased(store, HERE)
    await store.journal.begin(lease, "turn_1")
    journalled = JournalledTurn("turn_1", 1, [], is_resumed=True)
    harness = Harness(store, [])
    services = harness.runner.services
    attempt = Unread(services, lease, journalled, ())
    ports = ConversationPorts(services, attempt, NoWatcher())

    async def looks(*, certain: bool = False) -> int:
        await ports.check_inbox(certain=certain, only_changes=False)
        return attempt.looks

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


def picture(number: int) -> InboundEvent:
    return InboundEvent(words(f"p{number}", f"picture {number}"), album=Album("album", 3))


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
    await then.process()
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
    await then.process()
    assert asked(then) == [("user", "one"), ("model", ""), ("tool", ""), ("user", "two")]
