"""The loop: generate, parallel calls, results in call order, until an answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from bot.agent.loop import Agent, digest_of_persona
from bot.agent.tool_runner import INTERRUPTED
from bot.agent.turn import (
    ActingCall,
    ApprovalDecision,
    RecordedResponse,
    StartedCall,
    Turn,
    TurnContext,
    TurnStep,
    TurnUpdate,
)
from bot.errors import LeaseLost, ModelError, TryAgain, TurnFailed
from bot.live_events import AnswerRestarted, AnswerText, LiveEvent, ToolFinished, ToolStarted
from bot.providers import AUTO, Restarted, StreamEvent, TextDelta, ToolChoice
from bot.providers.scripted import Scripted, Step
from bot.telemetry import Metrics
from bot.transcript import Author, Message, Spending, Text, ToolCall, ToolResult, Usage
from tests.fakes.tools import ANY_OBJECT, Broken, Echo, Launch, Slow, tool_map
from toolset.offer.rules import Rule
from toolset.tool import ValidatedTool
from toolset.tool_map import MANY, ToolMap

NO = "rejected by the user"


@dataclass
class Notes:
    """Ports and a watcher that remember; whoever is asked about a call that acts says no."""

    stored: list[Message | ToolResult] = field(default_factory=list)
    begun_ids: list[str] = field(default_factory=list)
    waiting: list[TurnUpdate] = field(default_factory=list)
    seen: list[LiveEvent] = field(default_factory=list)
    spendings: list[Spending] = field(default_factory=list)

    async def record(self, step: TurnStep) -> None:
        match step:
            case RecordedResponse(message):
                self.stored.append(message)
            case StartedCall(call_id):
                self.begun_ids.append(call_id)
            case ToolResult():
                self.stored.append(step)

    async def spend(self, spending: Spending) -> None:
        self.spendings.append(spending)

    async def check_inbox(self, *, certain: bool, only_changes: bool) -> TurnUpdate:
        return self.waiting.pop(0) if self.waiting else TurnUpdate()

    async def review(self, acting: ActingCall) -> ApprovalDecision:
        call = acting.call
        return ApprovalDecision(call.id, approved=False, arguments=call.arguments, reason=NO)

    async def show(self, event: LiveEvent) -> None:
        self.seen.append(event)


def call(name: str, call_id: str, **arguments: Any) -> ToolCall:
    return ToolCall(call_id, name, arguments)


def user(text: str) -> Message:
    return Message("m1", "user", (Text(text),), 1_000, Author("u1", "Hanako"))


def make_turn(notes: Notes, choice: ToolChoice = AUTO, seconds: float = 30) -> Turn:
    place = TurnContext("console:test", "STYLE", "ja", "Asia/Tokyo", notes, tool_choice=choice)
    return Turn("turn_1", place, [], [user("hello")], notes, time.monotonic() + seconds)


def make_agent(
    steps: Iterable[Step], *tools: Echo, max_tool_turns: int = 10
) -> tuple[Agent, Scripted]:
    model = Scripted(steps)
    return Agent(model, tool_map(*tools), "SYSTEM", Metrics(), max_tool_turns), model


class ToldAfterwards(Notes):
    """Is told of a change when the inbox has just been checked."""

    turn: Turn
    checked: list[bool]

    async def check_inbox(self, *, certain: bool, only_changes: bool) -> TurnUpdate:
        self.checked.append(certain)
        if len(self.checked) == 1:
            self.turn.restart("another")
            self.turn.restart("m1")
            return TurnUpdate()
        return TurnUpdate(changes={"m1": None})


async def test_a_change_between_the_check_and_the_request_is_not_missed() -> None:
    """The request ends as it begins, and the inbox is checked again."""
    notes = ToldAfterwards()
    notes.turn, notes.checked = make_turn(notes), []
    agent, _ = make_agent([Step("Never", gate=asyncio.Event())])
    async with asyncio.timeout(10):
        assert await agent.run(notes.turn) is None
    assert notes.checked == [False, True]


class OutOfTime(Scripted):
    """A provider whose own time limit is not translated."""

    async def stream(self, *_: Any) -> AsyncGenerator[StreamEvent]:
        raise TimeoutError
        yield Restarted()


async def test_a_time_limit_of_the_provider_is_no_change() -> None:
    """It ends the turn as any unforeseen exception does."""
    agent = Agent(OutOfTime([]), tool_map(), "SYSTEM", Metrics())
    with pytest.raises(TimeoutError):
        await agent.run(make_turn(Notes()))


async def test_an_answer_without_calls_ends_the_turn() -> None:
    """One request, one answer, shown while it streams and recorded before the turn ends."""
    notes = Notes()
    agent, model = make_agent([Step("Hi there", usage=Usage(3, 0, 2))])
    turn = make_turn(notes)
    answer = await agent.run(turn)
    assert answer is not None
    assert answer.text == "Hi there"
    assert notes.stored == [answer]
    assert (
        "".join(event.text for event in notes.seen if isinstance(event, AnswerText)) == "Hi there"
    )
    assert model.requests[0].system == "SYSTEM\n\nSTYLE"
    assert notes.spendings == [
        Spending(
            "scripted",
            Usage(3, 0, 2),
            turn.asker,
            messages=1,
            is_first=True,
            persona=digest_of_persona("SYSTEM"),
        )
    ]


async def test_of_many_tools_the_model_gets_those_it_has_found() -> None:
    """At first the search alone, afterwards what it found, which is called and stays declared."""
    kinds = [type("Named", (Echo,), {"name": f"server_{n}"}) for n in range(MANY + 1)]
    others = [ValidatedTool(kind(), ANY_OBJECT, ANY_OBJECT, own=False) for kind in kinds]
    find, use = call("find_tools", "c1", query="server 7"), call("server_7", "c2")
    model = Scripted([Step(calls=(find,)), Step(calls=(use,)), Step("Done")])
    await Agent(model, ToolMap(others), "SYSTEM", Metrics()).run(make_turn(Notes()))
    declared = [[tool.name for tool in request.tools] for request in model.requests]
    assert declared[0] == ["find_tools"]
    assert declared[1][:2] == ["find_tools", "server_7"]
    assert declared[2] == declared[1]
    assert not model.requests[2].messages[-1].results[0].is_error


async def test_a_command_for_a_tool_that_a_place_does_not_offer_forces_nothing() -> None:
    """A vendor would refuse the request."""
    tools = ToolMap(tool_map(Echo()).values(), (Rule(channel="console", tools=()),))
    model = Scripted([Step("No.")])
    await Agent(model, tools, "SYSTEM", Metrics()).run(
        make_turn(Notes(), ToolChoice("one", "echo"))
    )
    assert (model.requests[0].tools, model.requests[0].tool_choice) == ((), AUTO)


@pytest.mark.parametrize(
    "rules",
    [
        (),
        (Rule(tools=("*",)),),
    ],
    ids=["no rules", "rules"],
)
async def test_a_tool_that_changes_while_the_model_writes_is_asked_about(
    rules: tuple[Rule, ...],
) -> None:
    """Its server lists it anew; a rule for the place keeps no older list."""

    def changed(_messages: Sequence[Message]) -> Step:
        risky = type("Risky", (Echo,), {"risk": "high"})()
        tools.replace("server", [ValidatedTool(risky, ANY_OBJECT, ANY_OBJECT, own=False)])
        return Step(calls=(call("echo", "a"),))

    tools, echo, notes = ToolMap([], rules), Echo(), Notes()
    tools.replace("server", [ValidatedTool(echo, ANY_OBJECT, ANY_OBJECT, own=False)])
    await Agent(Scripted([changed, Step("Done")]), tools, "SYSTEM", Metrics()).run(make_turn(notes))
    (result,) = [note for note in notes.stored if isinstance(note, ToolResult)]
    assert (result.response, result.is_rejected, echo.contexts) == ({"error": NO}, True, [])


async def test_results_of_parallel_calls_return_in_call_order() -> None:
    """All results of one response go back in one message, in the order of the calls, however fast
    each was."""
    notes = Notes()
    calls = (call("slow", "a", seconds=0.05), call("echo", "b", word="x"))
    agent, model = make_agent([Step("One moment.", calls), Step("Done")], Slow(), Echo())
    await agent.run(make_turn(notes))
    reported = model.requests[1].messages
    assert [message.role for message in reported] == ["user", "model", "tool"]
    assert reported[1].text == "One moment."
    assert [result.call_id for result in reported[2].results] == ["a", "b"]
    assert [type(note).__name__ for note in notes.stored] == [
        "Message",
        "ToolResult",
        "ToolResult",
        "Message",
    ]
    recorded = [note.call_id for note in notes.stored if isinstance(note, ToolResult)]
    assert recorded == ["b", "a"]  # each as it arrives


async def test_every_call_gets_exactly_one_result_whatever_happens() -> None:
    """Unknown, crashed, failed and refused calls are results, and none leaks what happened
    inside."""
    calls = (
        call("nothing", "unknown"),
        call("broken", "crash"),
        call("broken", "polite", say="no such place"),
        call("launch", "high"),
        call("echo", "fine"),
    )
    agent, model = make_agent([Step(calls=calls), Step("Done")], Broken(), Launch(), Echo())
    await agent.run(make_turn(Notes()))
    results = {result.call_id: result for result in model.requests[1].messages[-1].results}
    assert list(results) == ["unknown", "crash", "polite", "high", "fine"]
    assert results["unknown"].response == {
        "error": "unknown tool: nothing. Available tools: broken, launch, echo"
    }
    assert results["crash"].response == {"error": "broken failed unexpectedly"}
    assert results["polite"].response == {"error": "no such place"}
    assert results["high"].response == {"error": NO}
    assert results["high"].is_rejected
    assert results["fine"].response == {"heard": {}}
    assert [result.is_error for result in results.values()] == [True, True, True, True, False]


async def test_tools_are_told_who_calls_and_from_where() -> None:
    """Batch, place in the response, asker, locale and a stable idempotency key reach the tool."""
    echo = Echo()
    agent, model = make_agent(
        [Step(calls=(call("no", "x"), call("echo", "y"))), Step("Done")], echo
    )
    await agent.run(make_turn(Notes()))
    (context,) = echo.contexts
    assert context.batch_id == model.requests[1].messages[1].id
    assert (context.call_id, context.call_index, context.user) == ("y", 1, "u1")
    assert (context.conversation, context.locale, context.time_zone) == (
        "console:test",
        "ja",
        "Asia/Tokyo",
    )
    assert context.idempotency_key == "turn_1:y"


async def test_the_watcher_sees_calls_start_and_finish() -> None:
    """Who watches sees each call with its arguments, then its result and time."""
    notes = Notes()
    agent, _ = make_agent([Step(calls=(call("echo", "a", n=1),)), Step("Done")], Echo())
    await agent.run(make_turn(notes))
    assert notes.seen[0] == ToolStarted("a", "echo", {"n": 1})
    finished = notes.seen[1]
    assert isinstance(finished, ToolFinished)
    assert (finished.response, finished.is_error) == ({"heard": {"n": 1}}, False)


async def test_a_model_that_calls_when_it_may_not_has_failed() -> None:
    """A call in the last request is not run, and nothing is recorded that would need a result."""
    notes = Notes()
    agent, _ = make_agent(
        [Step(calls=(call("echo", str(n)),)) for n in range(2)], Echo(), max_tool_turns=1
    )
    with pytest.raises(TurnFailed) as failed:
        await agent.run(make_turn(notes))
    assert failed.value.apology == "malformed"
    assert isinstance(notes.stored[-1], ToolResult)


@pytest.mark.parametrize(
    ("step", "apology"),
    [
        (Step("", stop_reason="blocked", detail="SAFETY"), "blocked"),
        (Step("half", stop_reason="blocked"), "blocked"),
        (Step("", stop_reason="malformed"), "malformed"),
        (Step("", stop_reason="end_turn"), "malformed"),
        (Step("", stop_reason="max_tokens"), "malformed"),
        (Step(" \n", stop_reason="other"), "malformed"),
        (Step("\u200b\u2060 \ufeff", stop_reason="end_turn"), "malformed"),
    ],
)
async def test_an_answer_of_no_use_fails_the_turn(step: Step, apology: str) -> None:
    """Nothing to tell and nothing to run is a failure with its own sentence, never a success."""
    notes = Notes()
    agent, _ = make_agent([step])
    with pytest.raises(TurnFailed) as failed:
        await agent.run(make_turn(notes))
    assert failed.value.apology == apology
    assert notes.stored == []


async def test_a_restarted_stream_voids_what_was_shown() -> None:
    """The watcher is told that words of an interrupted stream do not count."""
    notes = Notes()
    agent, _ = make_agent([Step("whole", before=(TextDelta("ha"), Restarted()))])
    answer = await agent.run(make_turn(notes))
    assert answer is not None
    assert answer.text == "whole"
    assert AnswerRestarted() in notes.seen


async def test_a_model_error_travels_and_is_counted() -> None:
    """The loop does not hide the vendor's failure; the counter says which model failed."""
    agent, model = make_agent([Step(error=TryAgain("model_down", "503"))])
    with pytest.raises(ModelError):
        await agent.run(make_turn(Notes()))
    line = f'kaiwa_model_calls_total{{model="{model.model}",outcome="failed"}} 1.0'
    assert line in agent._metrics.exposition().decode()


async def test_a_record_that_fails_stops_the_turn_at_once() -> None:
    """A result that cannot be recorded ends the turn as the record's own error, not as a group of
    them."""

    class Lost(Notes):
        async def record(self, step: TurnStep) -> None:
            if isinstance(step, ToolResult):
                raise LeaseLost

    agent, model = make_agent(
        [Step(calls=(call("echo", "a"), call("slow", "b", seconds=30)))], Echo(), Slow()
    )
    with pytest.raises(LeaseLost):
        await agent.run(make_turn(Lost()))
    assert len(model.requests) == 1


async def test_closing_gives_open_calls_their_result() -> None:
    """A turn that is given up keeps a whole transcript: calls without a result get one that says
    so."""
    agent, _ = make_agent(
        [Step(calls=(call("slow", "a", seconds=60), call("echo", "b")))], Slow(), Echo()
    )
    turn = make_turn(Notes())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await agent.run(turn)
    await agent.close(turn)
    assert turn.added[-1].results == (
        ToolResult("a", "slow", {"error": INTERRUPTED}, is_error=True),
        ToolResult("b", "echo", {"heard": {}}),
    )


async def test_a_tool_gets_no_more_time_than_the_turn_has() -> None:
    """The turn's deadline bounds each call, and the model is told."""
    agent, model = make_agent([Step(calls=(call("slow", "a", seconds=60),)), Step("Sorry")], Slow())
    await agent.run(make_turn(Notes(), seconds=0.1))
    (result,) = model.requests[1].messages[-1].results
    assert result.response["error"].startswith("timed out after 0.")
