"""A turn gone on with: what has happened is not done again, and what may have happened only where
that does no harm."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest

from bot.agent.loop import Agent
from bot.agent.tool_runner import INTERRUPTED
from bot.agent.turn import StartedCall, TurnStep, TurnUpdate
from bot.errors import LeaseLost
from bot.providers.scripted import Scripted, Step
from bot.telemetry import Metrics
from bot.transcript import Message, Text, ToolCall, ToolResult
from tests.bot.agent.test_loop import Notes, call, make_agent, make_turn, user
from tests.fakes.tools import ANY_OBJECT, Echo
from toolset.offer.rules import Rule, Rules
from toolset.tool import ValidatedTool
from toolset.tool_map import NO_RULES, ToolMap


class Stamp(Echo):
    """Leaves a trace each time."""

    name: ClassVar[str] = "stamp"
    idempotent: ClassVar[bool] = False


def asked(*calls: ToolCall) -> Message:
    return Message("msg_1", "model", calls, 2_000)


class Late(Stamp):
    """Of a server that is listed after a while."""

    name: ClassVar[str] = "late_stamp"


async def test_a_turn_goes_on_from_where_its_record_ends() -> None:
    """Finished model and tool calls are not repeated: only the open call runs."""
    echo = Echo()
    agent, model = make_agent([Step("Both done")], echo)
    turn = make_turn(Notes())
    turn.restore_response(asked(call("echo", "a"), call("echo", "b")), "tool_use")
    turn.restore_result(ToolResult("a", "echo", {"heard": "before the crash"}))
    answer = await agent.run(turn)
    assert answer is not None
    assert answer.text == "Both done"
    assert [context.call_id for context in echo.contexts] == ["b"]
    assert len(model.requests) == 1
    assert [result.call_id for result in model.requests[0].messages[-1].results] == ["a", "b"]


async def test_a_turn_whose_answer_is_recorded_asks_nobody() -> None:
    """A crash between the answer and its commit costs no second model request."""
    agent, model = make_agent([])
    turn = make_turn(Notes())
    spoken = Message("msg_1", "model", (Text("Here you are"),), 2_000)
    turn.restore_response(spoken, "end_turn")
    assert await agent.run(turn) == spoken
    assert model.requests == []


async def test_a_call_that_must_not_be_made_twice_is_recorded_before_it_is_made() -> None:
    """Others need no such record."""
    stamp, notes = Stamp(), Notes()
    agent, _ = make_agent(
        [Step(calls=(call("stamp", "a"), call("echo", "b"))), Step("Done")], stamp, Echo()
    )
    await agent.run(make_turn(notes))
    assert (notes.begun_ids, len(stamp.contexts)) == (["a"], 1)


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
    turn.restore_response(asked(call("stamp", "a"), call("stamp", "b")), "tool_use")
    turn.restore_started("a")
    await agent.run(turn)
    assert [context.call_id for context in stamp.contexts] == ["b"]
    assert model.requests[0].messages[-1].results == (
        ToolResult("a", "stamp", {"error": INTERRUPTED}, is_error=True),
        ToolResult("b", "stamp", {"heard": {}}),
    )


async def test_a_call_that_does_no_harm_twice_is_repeated_under_its_key() -> None:
    """The key is of the turn and the call, so the tool's service knows it again."""
    first, again = Echo(), Echo()
    for echo in (first, again):
        agent, _ = make_agent([Step("Done")], echo)
        turn = make_turn(Notes())
        turn.restore_response(asked(call("echo", "a")), "tool_use")
        await agent.run(turn)
    assert [echo.contexts[0].idempotency_key for echo in (first, again)] == ["turn_1:a"] * 2


async def test_what_has_arrived_stands_behind_the_results() -> None:
    """As messages of their own, before the next request."""
    notes = Notes(waiting=[TurnUpdate(), TurnUpdate((user("and Osaka?"),))])
    agent, model = make_agent([Step(calls=(call("echo", "a"),)), Step("Both")], Echo())
    turn = make_turn(notes)
    answer = await agent.run(turn)
    assert [message.role for message in model.requests[1].messages] == [
        "user",
        "model",
        "tool",
        "user",
    ]
    assert turn.added[-1] == answer


async def test_a_turn_without_a_question_has_no_answer() -> None:
    """All that was asked has been taken back: nobody is asked for an answer."""
    agent, model = make_agent([])
    assert await agent.run(make_turn(Notes(waiting=[TurnUpdate(changes={"m1": None})]))) is None
    assert model.requests == []


@pytest.mark.parametrize(
    "rules", [NO_RULES, Rules((Rule(tools=("late_*",)),))], ids=["no rules", "rules"]
)
async def test_a_call_of_a_tool_that_is_expected_waits_for_it(rules: Rules) -> None:
    """After a restart, until its server has been listed; one that nobody expects does not wait."""
    model, tools, listed = Scripted([Step("Done")]), ToolMap([], rules), asyncio.Event()
    tools.expect("late_", listed)
    turn = make_turn(Notes())
    turn.restore_response(asked(call("late_stamp", "a"), call("never_there", "b")), "tool_use")
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
    turn.restore_response(asked(call("late_stamp", "a")), "tool_use")
    await Agent(model, tools, "SYSTEM", Metrics()).run(turn)
    assert "unknown tool" in str(model.requests[0].messages[-1].results[0].response)
