"""A response's calls: what reads side by side, what acts after review and one by one, each with its
one result."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.agent.turn import ApprovalDecision, StartedCall
from bot.errors import TurnParked
from bot.transcript import ToolResult
from tests.bot.agent.test_provenance import Fetch
from tests.bot.pipeline.tool_rounds import STRICT, Round, call, launches
from tests.fakes.tools import ANY_OBJECT, Echo, Launch, tool_map
from toolset.tool import ToolContext, ValidatedTool
from toolset.tool_map import ToolMap

PARKED = TurnParked(until=1, known=0)


class Crowd(Echo):
    """Counts how many of its calls run at once; a call may wait until so many have begun."""

    def __init__(self) -> None:
        super().__init__()
        self.running = self.most = 0
        self.begun = asyncio.Semaphore(0)
        self.gate = asyncio.Event()

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        self.running += 1
        self.most = max(self.most, self.running)
        self.begun.release()
        await self.gate.wait()
        self.running -= 1
        return await super().call(arguments, context)


async def test_calls_that_read_run_side_by_side_up_to_a_cap() -> None:
    """Eight of one turn at once; the others follow as places come free, and results stand in call
    order."""
    crowd = Crowd()
    round_ = Round(*(call("echo", f"c{n}", n=n) for n in range(11)))
    running = asyncio.create_task(round_.run(tool_map(crowd)))
    for _ in range(8):
        await crowd.begun.acquire()
    assert crowd.running == 8
    crowd.gate.set()
    results = await running
    assert crowd.most == 8
    assert [result.response for result in results] == [{"heard": {"n": n}} for n in range(11)]


async def test_calls_that_act_run_one_by_one_after_those_that_read() -> None:
    """Each is reviewed, begun and finished before the next is reviewed; the model gets call
    order."""
    first, second = launches("a1", "a2")
    round_ = Round(first, call("echo", "r1"), second, call("echo", "r2"), a1=True, a2=True)
    results = await round_.run()
    reading, acting = round_.diary.events[:2], round_.diary.events[2:]
    assert sorted(reading) == ["got r1", "got r2"]
    assert acting == ["asked a1", "begun a1", "got a1", "asked a2", "begun a2", "got a2"]
    assert [result.call_id for result in results] == ["a1", "r1", "a2", "r2"]


async def test_a_call_that_is_asked_about_leaves_the_reading_done_and_the_rest_for_later() -> None:
    """Parked: what reads has its results, the next call that acts is not even asked about."""
    first, second = launches("a1", "a2")
    round_ = Round(first, second, call("echo", "r1"), a1=PARKED, a2=True)
    with pytest.raises(TurnParked):
        await round_.run()
    assert round_.diary.events == ["got r1", "asked a1"]
    assert [open_call.id for _, open_call in round_.turn.open_calls()] == ["a1", "a2"]
    assert round_.launch.contexts == []


async def test_a_tool_whose_risk_changes_meanwhile_is_called_once() -> None:
    """A server may list its tools anew at any time."""

    class Grows(Echo):
        async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
            risky = type("Risky", (Echo,), {"risk": "high"})()
            tools.replace("server", [ValidatedTool(risky, ANY_OBJECT, ANY_OBJECT)])
            return await super().call(arguments, context)

    tools, grows = ToolMap([]), Grows()
    tools.replace("server", [ValidatedTool(grows, ANY_OBJECT, ANY_OBJECT)])
    round_ = Round(call("echo", "c1"))
    assert [result.call_id for result in await round_.run(tools)] == ["c1"]
    assert len(grows.contexts) == 1
    assert tools["echo"].definition.risk == "high"


async def test_tools_and_risks_are_looked_up_at_each_call() -> None:
    """While others ran, one was taken away and one has come to act: it is not called, or asked
    about."""
    round_ = Round(call("echo", "c1"), call("echo", "c2", n=2), *launches("a1"), c2=False)
    acting = ValidatedTool(round_.echo, ANY_OBJECT, ANY_OBJECT).with_risk("high")
    await round_.run(tool_map(round_.echo, round_.launch), ToolMap([acting]))
    assert (len(round_.echo.contexts), round_.launch.contexts) == (1, [])
    assert round_.responses()[1:] == [
        {"error": "rejected by the user"},
        {"error": "unknown tool: launch. Available tools: echo"},
    ]


async def test_a_call_that_was_rejected_is_not_made_because_its_tool_now_only_reads() -> None:
    """Somebody has trusted its server meanwhile, or changed a rule."""
    (call_,) = launches("a1")
    round_ = Round(call_)
    round_.turn.restore(
        ApprovalDecision("a1", approved=False, arguments=call_.arguments, reason="no")
    )
    (result,) = await round_.run(
        ToolMap(tool.with_risk("low") for tool in tool_map(round_.launch).values())
    )
    assert (result.response, result.is_rejected) == ({"error": "no"}, True)
    assert round_.launch.contexts == []


async def test_what_was_approved_keeps_its_place_though_its_tool_now_only_reads() -> None:
    """It runs behind the calls that read, one after another in call order, and nobody is asked."""
    acting = launches("a1", "a2")
    round_ = Round(*acting, call("echo", "r1"))
    for one in acting:
        round_.turn.restore(ApprovalDecision(one.id, True, one.arguments))
    tools = tool_map(round_.echo, round_.launch)
    await round_.run(ToolMap(tool.with_risk("low") for tool in tools.values()))
    assert round_.diary.events == ["got r1", "begun a1", "got a1", "begun a2", "got a2"]


async def test_an_approved_address_is_opened_once_after_a_crash_or_hand_over() -> None:
    """Whoever goes on with the turn opens it without a question; the one beside it, about which
    nobody has decided, is asked about."""
    composed = {"url": "https://evil.example/?d=1"}
    fetch = Fetch()
    round_ = Round(call("echo", "r1"), f2=PARKED)
    tools = tool_map(round_.echo, fetch)
    await round_.run(tools)
    round_.respond(call("fetch", "f1", **composed), call("fetch", "f2", url="https://evil.example"))
    round_.turn.restore(ApprovalDecision("f1", True, composed))
    # Twice, as a second process may take over while the other question is open.
    for _ in range(2):
        with pytest.raises(TurnParked):
            await round_.run(tools)
    assert [context.call_id for context in fetch.contexts] == ["f1"]
    assert [acting.call.id for acting in round_.diary.reviewed] == ["f2", "f2"]


async def test_a_rejected_call_does_not_stop_the_others() -> None:
    """The model reads the reason in its place."""
    round_ = Round(*launches("a1", "a2"), a1=False, a2=True)
    rejected, made = await round_.run()
    assert rejected == ToolResult(
        "a1", "launch", {"error": "rejected by the user"}, is_error=True, is_rejected=True
    )
    assert made == ToolResult("a2", "launch", {"heard": {"what": "a2"}})
    assert [context.call_id for context in round_.launch.contexts] == ["a2"]


async def test_nobody_is_asked_about_a_call_that_cannot_be_made() -> None:
    """Unknown tools and wrong arguments are results at once."""
    launch = Launch()
    round_ = Round(call("explode", "u"), call("launch", "w", n="one"))
    await round_.run(ToolMap([ValidatedTool(launch, STRICT, ANY_OBJECT)]))
    assert round_.responses() == [
        {"error": "unknown tool: explode. Available tools: launch"},
        {"error": "invalid parameters: n: 'one' is not of type 'integer'"},
    ]
    assert round_.diary.reviewed == []
    assert launch.contexts == []


async def test_a_tool_that_can_be_called_twice_is_called_again() -> None:
    """What acts but declares itself idempotent gets the same key as before the crash."""

    class Switch(Launch):
        idempotent = True

    switch = Switch()
    round_ = Round(*launches("a1"), a1=True)
    round_.turn.restore(StartedCall("a1"))
    await round_.run(tool_map(switch))
    assert [context.idempotency_key for context in switch.contexts] == ["turn_1:a1"]


async def test_a_decision_holds_for_the_arguments_it_was_about() -> None:
    """What was shown is what is made, also where the call would look different now."""
    round_ = Round(*launches("a1"))
    round_.turn.restore(ApprovalDecision("a1", approved=True, arguments={"what": "as shown"}))
    assert [result.response for result in await round_.run()] == [{"heard": {"what": "as shown"}}]
    assert round_.diary.reviewed == []


async def test_the_third_same_call_running_is_stopped() -> None:
    """A model that goes round in circles is told so; other arguments, or another call between, are
    no circle."""
    round_ = Round(call("echo", "c1", q="x"))
    await round_.run()
    for call_id in ("c2", "c3"):
        round_.respond(call("echo", call_id, q="x"), call("echo", f"{call_id}_other", q=call_id))
        await round_.run()
    stopped, other = round_.responses()
    assert stopped == {
        "error": (
            "stopped: the same call was made 2 times running. Use the results you have, or call "
            "differently."
        )
    }
    assert other == {"heard": {"q": "c3"}}
    round_.respond(call("echo", "c4", q="y"))
    await round_.run()
    round_.respond(call("echo", "c5", q="x"))
    await round_.run()
    assert round_.responses() == [{"heard": {"q": "x"}}]


async def test_the_same_call_three_times_in_one_response_is_stopped_too() -> None:
    """Two may be chance."""
    round_ = Round(*(call("echo", f"c{n}", q="x") for n in range(3)))
    results = await round_.run()
    assert [result.is_error for result in results] == [False, False, True]


async def test_every_call_is_counted_by_tool_and_outcome() -> None:
    """A name that a model made up is counted as unknown: made-up names must not fill the
    metrics."""
    round_ = Round(call("explode", "u"), *launches("a1"), call("echo", "r1"), a1=False)
    await round_.run()
    lines = round_.metrics.exposition().decode().splitlines()
    assert sorted(line for line in lines if line.startswith("kaiwa_tool_calls_total")) == [
        'kaiwa_tool_calls_total{outcome="error",tool="unknown"} 1.0',
        'kaiwa_tool_calls_total{outcome="ok",tool="echo"} 1.0',
        'kaiwa_tool_calls_total{outcome="rejected",tool="launch"} 1.0',
    ]
