"""The end of a turn is in its trace with the commit; what follows leaves a little later, with that
of other turns."""

from __future__ import annotations

from typing import Any

import pytest

from bot.agent.hooks import Abort, Hook
from bot.features.traces import recorder
from bot.features.traces.reading import TracedTurn, find_turns
from bot.features.traces.store import Traces
from bot.providers.scripted import Step
from bot.store import Store
from bot.telemetry.observed import (
    CommitBegun,
    DeliveryBegun,
    EventTaken,
    Measured,
    ObservedStep,
    ResponseRead,
    ShareBegun,
    ShareEnded,
    ShareFailed,
)
from bot.transcript import ToolCall, Usage
from tests.bot.features.traces.test_trouble import sent
from tests.bot.harness import HERE, Harness, words
from tests.fakes.tools import Echo, tool_map

ANSWERED, DELIVERED = CommitBegun("answered"), Measured("delivery", "delivered", "line", 9, {}, {})
READ = ResponseRead("gemini", (b"{}",), words("m2", "hi"), "end_turn", Usage(1))
BEGUN = DeliveryBegun("turn_1_1", "hi")


@pytest.fixture
def traces(store: Store, monkeypatch: pytest.MonkeyPatch) -> Traces:
    monkeypatch.setattr(recorder, "FLUSH_S", 600.0)
    return Traces(store, 7)


async def in_the_store(harness: Harness, traces: Traces, *steps: ObservedStep) -> TracedTurn:
    """What is kept of a turn when these steps have been taken, with a request after each."""
    for step in steps:
        harness.runner.services.features.observe(HERE, "turn_1", step)
        await harness.store.scripts.ask("PING")
    (turn,) = await find_turns(traces)
    return turn


async def test_the_end_of_a_turn_is_in_the_store_before_its_delivery(
    store: Store, traces: Traces
) -> None:
    """A process that is killed right after the commit has recorded it."""
    harness = Harness(store, [Step("It flies."), Step("It flies.")])
    await harness.say("Hi", "m1")
    await sent(harness)
    await harness.say("Does it fly?", "m2")
    turn, _ = await find_turns(traces)
    assert [fact.kind for fact in turn.first.facts] == ["event", "request", "response"]
    assert turn.first.outcome == "answered"
    await sent(harness)
    turn, _ = await find_turns(traces)
    assert turn.first.facts[-1].outcome == "delivered"


async def test_a_turn_that_a_hook_has_ended_is_in_the_store_as_failed(
    store: Store, traces: Traces
) -> None:
    """Though the model has answered all that it was asked."""

    class Careful(Hook):
        async def before(self, *_: Any) -> Any:
            return Abort("not here")

    call = ToolCall("c1", "echo", {"text": "hi"})
    steps = [Step("Hi."), Step(calls=(call,))]
    harness = Harness(store, steps, tools=tool_map(Echo()), hooks=[Careful()])
    await harness.say("Hi", "m1")
    await sent(harness)
    await harness.say("Echo", "m2")
    turn, _ = await find_turns(traces)
    assert turn.first.outcome == "failed"
    await sent(harness)


async def test_a_delivery_that_was_refused_is_recorded_at_once(
    store: Store, traces: Traces
) -> None:
    """It is looked for; one that went out leaves with what follows."""
    harness = Harness(store, [])
    taken = EventTaken(words("m1", "hello"), "message", "answered")
    harness.runner.services.features.observe(HERE, "turn_1", taken)
    await sent(harness)  # the key of the digests is known
    turn = await in_the_store(harness, traces, READ, ANSWERED, BEGUN, DELIVERED)
    assert [fact.kind for fact in turn.first.facts] == ["event", "response"]
    refused = Measured("delivery", "refused", "line", 9, {}, {})
    turn = await in_the_store(harness, traces, BEGUN, refused)
    outcomes = [fact.outcome for fact in turn.first.facts if fact.kind == "delivery"]
    assert outcomes == ["delivered", "refused"]
    await sent(harness)


@pytest.mark.parametrize(
    "following",
    [ShareEnded("LeaseLost"), ShareFailed("crashed", "OSError"), ShareBegun(is_resumed=True)],
)
async def test_a_turn_that_was_not_committed_has_no_end(
    store: Store, traces: Traces, following: ObservedStep
) -> None:
    """Its lease was lost, or a message was edited meanwhile."""
    harness = Harness(store, [])
    taken = EventTaken(words("m1", "hello"), "message", "answered")
    harness.runner.services.features.observe(HERE, "turn_1", taken)
    await sent(harness)
    turn = await in_the_store(harness, traces, READ, ANSWERED)
    assert turn.outcome == "answered"
    harness.runner.services.features.observe(HERE, "turn_1", following)
    await sent(harness)
    (turn,) = await find_turns(traces)
    assert turn.outcome == ""
