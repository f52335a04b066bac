"""A turn gone on with: what has happened is not done again, and what may have happened only where
that does no harm."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from bot.agent.loop import Agent
from bot.agent.tool_runner import INTERRUPTED
from bot.agent.turn import RecordedResponse, StartedCall, TurnStep
from bot.errors import LeaseLost
from bot.providers.scripted import Scripted, Step
from bot.telemetry import Metrics
from bot.transcript import Message, ToolCall, ToolResult
from tests.bot.agent.test_loop import Notes, call, make_agent, make_turn
from tests.fakes.tools import ANY_OBJECT, Echo
from toolset.offer.rules import Rule
from toolset.tool import ValidatedTool
from toolset.tool_map import ToolMap


class Stamp(Echo):
    """Leaves a trace each time."""

    name: ClassVar[str] = "stamp"
    idempotent: ClassVar[bool] = False


def asked(*calls: ToolCall) -> RecordedResponse:
    return RecordedResponse(Message("msg_1", "model", calls, 2_000), "tool_use")


class Late(Stamp):
    """Of a server that is listed after a while."""

    name: ClassVar[str] = "late_stamp"


async def test_a_turn_goes_on_from_where_its_record_ends() -> None:
    """Finished model and tool calls are not repeated: only the open call runs."""
    echo = Echo()
    agent, model = make_agent([Step("Both done")], echo)
    turn = make_turn(Notes())
    turn.restore(asked(call("echo", "a"), call("echo", "b")))
    turn.restore(ToolResult("a", "echo", {"heard": "before the crash"}))
    answer = await agent.run(turn)
    assert answer is not None
    assert answer.text == "Both done"
    assert [context.call_id for context in echo.contexts] == ["b"]
    assert len(model.requests) == 1
    assert [result.call_id for result in model.requests[0].messages[-1].results] == ["a", "b"]


async def test_a_call_that_cannot_be_recorded_is_not_made() -> None:
    """Whoever has the turn now makes it."""

    class Lost(Notes):
        async def record(self, step: TurnStep) -> None:
            if isinstance(step, StartedCall):
                raise LeaseLost

    stamp = Stamp()
    agent, _ = make_agent([Step(calls=(call("stamp", "a"),))], stamp)
    with pytest.raises(LeaseLost):
        await agent.run(make_turn(Lost()))
    assert stamp.contexts == []


async def test_a_call_that_may_have_happened_is_not_made_again() -> None:
    """The model is told that nobody knows; a call that had not begun is made."""
    stamp = Stamp()
    agent, model = make_agent([Step("I am not sure.")], stamp)
    turn = make_turn(Notes())
    turn.restore(asked(call("stamp", "a"), call("stamp", "b")))
    turn.restore(StartedCall("a"))
    await agent.run(turn)
    assert [context.call_id for context in stamp.contexts] == ["b"]
    assert model.requests[0].messages[-1].results == (
        ToolResult("a", "stamp", {"error": INTERRUPTED}, is_error=True),
        ToolResult("b", "stamp", {"heard": {}}),
    )


@pytest.mark.parametrize(
    "rules",
    [
        (),
        (Rule(tools=("late_*",)),),
    ],
    ids=["no rules", "rules"],
)
async def test_a_call_of_a_tool_that_is_expected_waits_for_it(rules: tuple[Rule, ...]) -> None:
    """After a restart, until its server has been listed; one that nobody expects does not wait."""
    model, tools, listed = Scripted([Step("Done")]), ToolMap([], rules), asyncio.Event()
    tools.expect("late_", listed)
    turn = make_turn(Notes())
    turn.restore(asked(call("late_stamp", "a"), call("never_there", "b")))
    running = asyncio.create_task(Agent(model, tools, "SYSTEM", Metrics()).run(turn))
    await asyncio.sleep(0)
    late = Late()
    tools.replace("late", [ValidatedTool(late, ANY_OBJECT, ANY_OBJECT, own=False)])
    listed.set()
    await running
    assert [context.call_id for context in late.contexts] == ["a"]
    assert "unknown tool" in str(model.requests[0].messages[-1].results[1].response)


async def test_a_call_waits_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a server that hangs."""
    monkeypatch.setattr("toolset.tool_map.ARRIVAL_S", 0.01)
    model, tools = Scripted([Step("Done")]), ToolMap([])
    tools.expect("late_", asyncio.Event())
    turn = make_turn(Notes())
    turn.restore(asked(call("late_stamp", "a")))
    await Agent(model, tools, "SYSTEM", Metrics()).run(turn)
    assert "unknown tool" in str(model.requests[0].messages[-1].results[0].response)
