"""Steps that follow the answer: they are sent a little later, with those of other turns."""

from __future__ import annotations

from datetime import UTC

import pytest

from bot.features.traces import recorder
from bot.features.traces.as_text import NOT_RECORDED, waterfall
from bot.features.traces.reading import TracedTurn, TurnWords, find_turns
from bot.features.traces.records import Fact, Share
from bot.features.traces.shown import turn_steps
from bot.features.traces.store import Traces
from bot.providers.scripted import Step
from bot.store import Store
from bot.telemetry.observed import DeliveryBegun, EventTaken, Measured, ResponseRead
from bot.transcript import Usage
from tests.bot.features.traces.test_trouble import sent
from tests.bot.harness import HERE, Harness, words


@pytest.fixture
def traces(store: Store, monkeypatch: pytest.MonkeyPatch) -> Traces:
    monkeypatch.setattr(recorder, "FLUSH_S", 600.0)
    return Traces(store, 7)


def noted(turn: TracedTurn, now_ms: int) -> list[str]:
    """The kinds of steps of which page and terminal say that something is not recorded."""
    steps = [step["kind"] for step in turn_steps(turn, now_ms) if step["unrecorded"]]
    shown = "\n".join(waterfall(turn, TurnWords(), UTC, now_ms))
    assert shown.count(NOT_RECORDED) == steps.count("response")
    return steps


async def test_the_store_has_the_answer_before_its_delivery_is_recorded(
    store: Store, traces: Traces
) -> None:
    """What is missing when the process is killed then is said."""
    harness = Harness(store, [Step("It flies.")])
    await store.scripts.ask("PING")  # reads the key of the digests
    await harness.say("Does it fly?", "m1")
    (turn,) = await find_turns(traces)
    assert [fact.kind for fact in turn.first.facts] == ["event", "request", "response"]
    assert (turn.outcome, turn.first.outcome) == ("answered", "")
    assert noted(turn, store.clock()) == ["response"]
    await sent(harness)
    (turn,) = await find_turns(traces)
    assert (turn.outcome, turn.first.facts[-1].outcome) == ("answered", "delivered")
    assert noted(turn, store.clock()) == []


@pytest.mark.parametrize(
    ("reason", "outcome", "is_recorded"),
    [
        ("end_turn", "delivered", False),
        ("end_turn", "refused", True),
        ("max_tokens", "delivered", True),
    ],
)
async def test_a_delivery_that_says_how_the_turn_ended_is_recorded_at_once(
    store: Store, traces: Traces, reason: str, outcome: str, *, is_recorded: bool
) -> None:
    """With the request that takes it from the outbox."""
    harness = Harness(store, [])
    observe = harness.runner.services.features.observe
    message = words("m1", "hello")
    observe(HERE, "turn_1", EventTaken(message, "message", "answered"))
    await sent(harness)
    observe(HERE, "turn_1", ResponseRead("gemini", (b"{}",), message, reason, Usage(1)))
    await store.scripts.ask("PING")
    observe(HERE, "turn_1", DeliveryBegun("turn_1_1", "hello"))
    observe(HERE, "turn_1", Measured("delivery", outcome, "line", 12, {}, {}))
    await store.scripts.ask("PING")
    (turn,) = await find_turns(traces)
    assert ("delivery" in [fact.kind for fact in turn.first.facts]) == is_recorded
    await sent(harness)


@pytest.mark.parametrize(
    ("kind", "reason", "left", "outcome"),
    [
        ("response", "end_turn", "", "answered"),
        ("response", "end_turn", "LeaseLost", ""),
        ("response", "tool_use", "", ""),
        ("request", "", "", ""),
    ],
)
def test_what_the_model_said_last_tells_the_end_of_a_turn_whose_process_was_killed(
    kind: str, reason: str, left: str, outcome: str
) -> None:
    """Of one that left the turn to others it tells nothing."""
    facts = [Fact("event", 0), Fact("request", 1, "gemini")]
    if kind == "response":
        facts.append(Fact("response", 2, "gemini", reason))
    share = Share("turn_1", "a", 1, "line", 0, "c", "p", "u", facts, left=left)
    turn = TracedTurn("turn_1", [share])
    assert turn.outcome == outcome
    assert bool(noted(turn, 10**12)) == (kind == "request" or outcome == "answered")
