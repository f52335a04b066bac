"""Polls in a conversation: what a tool starts is shown with the answer, and presses are counted
beside the turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from bot.channels import Abilities, ButtonCard, InboundEvent, Reply
from bot.errors import DeliverLater, DeliveryRefused
from bot.features.polls.feature import Polls
from bot.features.polls.poll import VOTE, Poll, read_cards, read_poll
from bot.features.polls.store import OPEN_POLLS, StoredPolls
from bot.features.polls.tool_polls import FULL, NO_WORDS, ONE, ToolPolls
from bot.features.polls.tools import StartPoll
from bot.pipeline.feature import AnsweredTurn
from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message, ToolCall, ToolResult
from tests.bot.harness import HERE, Harness, texts, words
from toolset.tool import ToolError, ValidatedTool, read_schemas
from toolset.tool_map import ToolMap

FOOD = {"question": "Where do we eat?", "options": ["Sushi", "Curry"]}


def talk(store: Store, *steps: Step) -> Harness:
    """A conversation with the tool."""
    return Harness(
        store, steps, tools=ToolMap([ValidatedTool(StartPoll(), *read_schemas("start_poll"))])
    )


def started(*calls: dict[str, Any]) -> list[Step]:
    """A response that starts polls, and an answer."""
    polls = tuple(
        ToolCall(f"c{number}", "start_poll", FOOD | call) for number, call in enumerate(calls)
    )
    return [Step(calls=polls), Step("Please vote.")]


def pressing(poll: Poll, choice: int, author: str = "u2", press_id: str = "p1") -> InboundEvent:
    """A press of a button."""
    press = Message(press_id, "user", (), 0, Author(author))
    return InboundEvent(press, "address", event="action", action=VOTE, target=f"{poll.id}:{choice}")


async def first_poll(harness: Harness) -> Poll:
    """The poll of the first answer."""
    await harness.receive("A poll, please", "m1")
    await harness.runner.process(HERE, "u1")
    card = harness.box.delivered[0].reply.card
    assert card
    poll = await read_poll(StoredPolls(harness.store), HERE, card.key)
    assert isinstance(poll, Poll)
    assert poll.card(texts()) == card
    return poll


def counts_of(card: ButtonCard | None) -> list[str]:
    """The votes of its options."""
    assert card
    return [votes for _, votes in card.rows]


async def test_the_answer_brings_the_poll(store: Store) -> None:
    """The model reads its id; a second one is refused, as LINE could show it only for money."""
    harness = talk(store, *started({}, {"question": "When?", "multiple": True}))
    poll = await first_poll(harness)
    assert harness.box.texts == ["Please vote."]
    assert poll == Poll(poll.id, "Where do we eat?", ("Sushi", "Curry"), (0, 0))
    [first_result, second_result] = harness.model.requests[1].messages[-1].results
    assert [first_result.response, second_result.response] == [{"poll": poll.id}, {"error": ONE}]
    messages = await read_history(store, HERE)
    assert await read_cards(StoredPolls(store), texts(), HERE, messages) == [poll.card(texts())]
    assert await harness.intake(HERE, pressing(poll, 0, "u1"))
    closed = replace(poll, is_closed=True).card(texts())
    assert await read_cards(StoredPolls(store), texts(), HERE, messages) == [closed]
    assert await read_cards(StoredPolls(store), texts(), HERE, ()) == []


async def test_a_press_starts_no_turn(store: Store) -> None:
    """Counted once however often it comes; what it changed is shown to the place."""
    harness = talk(store, *started({}))
    poll = await first_poll(harness)
    assert [await harness.intake(HERE, pressing(poll, 2)) for _ in range(2)] == [True, True]
    assert await store.inbox.read(HERE) == []
    await harness.runner.process(HERE)
    shown = harness.box.delivered[1].reply
    assert shown.card == replace(poll, counts=(0, 1), voters=1).card(texts())
    assert (shown.replaces, shown.private, shown.keep) == (poll.id, True, "if_free")
    assert (len(harness.box.delivered), len(harness.model.requests)) == (2, 2)


async def test_who_is_unknown_neither_votes_nor_starts_a_poll(store: Store) -> None:
    """Several of them could not be told apart."""
    harness = talk(store, *started({}))
    poll = await first_poll(harness)
    assert not await harness.intake(HERE, pressing(poll, 1, author=""))
    assert await store.outbox.read(HERE) == []
    other = talk(store, *started({}))
    nobody = replace(words("m2", "A poll", ""), author=None)
    assert await other.intake("mailbox:group", InboundEvent(nobody, group=True))
    await other.runner.process("mailbox:group")
    assert "not known who asks" in str(other.model.requests[1].messages[-1].results[0].response)


async def test_a_press_that_does_not_count_is_explained_once_a_minute(store: Store) -> None:
    """In the poll's language; of a poll that is gone in the bot's."""
    harness = talk(store, *started({"question": "どこで食べますか。"}))
    poll = await first_poll(harness)
    for press in ("p1", "p2"):
        assert not await harness.intake(HERE, pressing(poll, 0, press_id=press))
    assert not await harness.intake(
        HERE, pressing(replace(poll, id=f"poll_{'0' * 32}"), 1, press_id="p3")
    )
    await harness.runner.process(HERE)
    assert harness.box.texts[1:] == [
        "この投票を締め切れるのは、始めた本人だけです。",
        "This poll has ended, and its data has been deleted.",
    ]


async def test_a_pause_delays_what_shows_votes(store: Store) -> None:
    """The lease is given back meanwhile; the next change is shown with it."""
    harness = talk(store, *started({}))
    poll = await first_poll(harness)
    harness.box.abilities = Abilities(change_pause_s=60)
    for number, author in enumerate(("u2", "u3", "u4")):
        await harness.intake(HERE, pressing(poll, 1, author, f"p{number}"))
        await harness.runner.process(HERE)
    shown = [counts_of(one.reply.card) for one in harness.box.delivered if one.reply.card]
    assert shown == [["", ""], ["1", "0"]]
    harness.box.abilities = Abilities()
    await harness.runner.process(HERE)
    assert counts_of(harness.box.delivered[-1].reply.card) == ["3", "0"]
    assert await store.outbox.read(HERE) == []


@pytest.mark.parametrize("failure", [DeliverLater("away", 0.0), DeliveryRefused("gone")])
async def test_a_show_that_fails_leaves_no_dead_letter(store: Store, failure: Exception) -> None:
    """It comes again with the votes of that time, or is dropped."""
    harness = talk(store, *started({}))
    poll = await first_poll(harness)
    harness.box.failures = [failure]
    await harness.intake(HERE, pressing(poll, 1))
    await harness.runner.process(HERE)
    await harness.intake(HERE, pressing(poll, 2, "u3", "p2"))
    await harness.runner.process(HERE)
    assert counts_of(harness.box.delivered[-1].reply.card) == ["1", "1"]
    assert await store.dead_letters.read() == []


async def test_a_vote_does_not_wait_for_a_turn_that_rests(store: Store) -> None:
    """It comes while the turn runs, which fails and is tried again later."""
    gate = asyncio.Event()
    failing = Step(error=ZeroDivisionError(), gate=gate)
    harness = talk(store, *started({}), failing)
    poll = await first_poll(harness)
    await harness.receive("And what is on the menu?", "m2")
    running = asyncio.create_task(harness.runner.process(HERE))
    await failing.at_gate.wait()
    await harness.intake(HERE, pressing(poll, 1))
    gate.set()
    await running
    assert counts_of(harness.box.delivered[-1].reply.card) == ["1", "0"]


async def test_attempts_that_fail_leave_one_show_behind(store: Store) -> None:
    """Otherwise an outage would leave more of them than a place is shown in time."""
    harness = talk(store, *started({}))
    poll = await first_poll(harness)
    harness.box.failures = [DeliverLater("away", 0.0)] * 5
    for number in range(5):
        await harness.intake(HERE, pressing(poll, 1, f"v{number}", f"p{number}"))
        await harness.runner.process(HERE)
    assert len(await store.outbox.read(HERE)) == 2


async def test_a_process_without_votes_takes_none(store: Store) -> None:
    """Nothing of them gets into an inbox."""
    intake = Harness(store, [], features=()).intake
    assert not await intake(HERE, pressing(Poll("poll_1", "?", ("a", "b")), 1))
    assert await store.inbox.read(HERE) == []


async def test_what_cannot_be_asked_is_said(store: Store) -> None:
    """No visible words, an option twice, too many open polls with votes."""

    def polls() -> ToolPolls:
        return ToolPolls(StoredPolls(store), HERE, "u1", "en")

    for question, options in (
        ("\u200b", ["a", "b"]),
        ("?", ["a", "\u200b"]),
        ("?", ["Sushi", "sushi "]),
    ):
        with pytest.raises(ToolError) as reported:
            await polls().start(question, options, multiple=False, idempotency_key="k")
        assert str(reported.value) == NO_WORDS
    stored = StoredPolls(store)
    for number in range(OPEN_POLLS):
        poll_id = await polls().start("?", ["a", "b"], multiple=False, idempotency_key=f"k{number}")
        assert await stored.press(HERE, poll_id, f"p{number}", "u2", 1, b"{}") == "taken"
    full = polls()
    for key in ("more", "again"):  # what was not started does not count as the poll of its answer
        with pytest.raises(ToolError) as reported:
            await full.start("?", ["a", "b"], multiple=False, idempotency_key=key)
        assert str(reported.value) == FULL


async def test_a_poll_that_cannot_be_read_is_not_shown(store: Store) -> None:
    """The answer stands without it."""
    await StoredPolls(store).start(HERE, "poll_1", "u1", b"?", options=2, multiple=False)
    failed = ToolResult("c1", "start_poll", {"error": "full"}, is_error=True)
    result = ToolResult("c2", "start_poll", {"poll": "poll_1"})
    hooked = ToolResult("c3", "start_poll", {"text": "a hook has changed it"})
    messages = [Message("m", "tool", (failed, result, hooked), 0)]
    polls, turn = Polls(talk(store).runner.services), AnsweredTurn(HERE, "t1", messages)
    assert await polls.after_calls["start_poll"](turn, Reply("Done")) == Reply("Done")


async def test_forget_me_takes_votes_and_polls(store: Store) -> None:
    """A creator's poll goes with its votes."""
    harness = talk(store, *started({}))
    poll = await first_poll(harness)
    await harness.intake(HERE, pressing(poll, 1))
    assert await harness.intake(HERE, InboundEvent(words("m2", "/forget me"), "address"))
    await harness.runner.process(HERE, "u1")
    assert await read_poll(StoredPolls(store), HERE, poll.id) is None
