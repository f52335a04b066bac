"""What is sent without a turn, as thanks for a rating, is not taken for a turn that has not
ended."""

from __future__ import annotations

from datetime import UTC

import pytest

from bot.features.traces.as_text import Look, waterfall
from bot.features.traces.lists import OF_NO_TURN, print_turn
from bot.features.traces.reading import ALL, TurnWords, find_turn, find_turns
from bot.features.traces.shown import state_of
from bot.features.traces.store import Traces
from bot.features.traces.summaries import conversations
from bot.providers.scripted import Step
from bot.store import Store
from bot.telemetry.observed import DeliveryBegun, Measured, Rated
from tests.bot.features.traces.test_traces import WORDS, sent
from tests.bot.harness import HERE, Harness


async def test_what_was_sent_without_a_turn_is_said_to_be_sent(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the page and in the terminal; the conversation has one turn."""
    traces, harness = Traces(store, 7), Harness(store, [Step("Hi.")], settings=WORDS)
    await harness.say("Hello", "m1")
    observe = harness.runner.services.features.observe
    observe(HERE, "press_1", DeliveryBegun("thanks_1", "Thank you!"))
    observe(HERE, "press_1", Measured("delivery", "delivered", "mailbox", 1, {}, {}))
    await sent(harness)
    notice, turn = await find_turns(traces)
    now = store.clock() + 3_600_000
    assert [state_of(one, now) for one in (notice, turn)] == ["sent", "answered"]
    assert [one.ended for one in (notice, turn)] == ["sent", "answered"]
    head, *_ = waterfall(notice, TurnWords(), UTC, now)
    assert "sent without a turn" in head
    print_turn(Look(notice, TurnWords(), UTC, now), as_json=False, raw=None)
    assert capsys.readouterr().err == f"{OF_NO_TURN}\n"
    (conversation,) = await conversations(traces, ALL, 10)
    assert (conversation.turns, conversation.last_turn) == (1, turn.id)


async def test_a_rating_whose_turn_is_no_longer_kept_was_not_sent(store: Store) -> None:
    """It came after the turn's days were over."""
    traces, harness = Traces(store, 7), Harness(store, [], settings=WORDS)
    harness.runner.services.features.observe(HERE, "turn_1", Rated(is_good=False, by="u1"))
    await sent(harness)
    turn = await find_turn(traces, "turn_1")
    assert turn is not None
    assert (turn.ended, turn.ratings) == ("open", ["bad"])
