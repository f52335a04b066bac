"""The runner, with answers of a script: what is asked, how many at once, how long, and what
fails."""

from __future__ import annotations

import asyncio

from bot.agent.loop import Agent
from bot.errors import RequestRefused
from bot.evals.canned import canned_tools
from bot.evals.questions import Exchange, ExpectedCall, Predicate, Question
from bot.evals.runner import Attempt, Limits, run_questions
from bot.providers.scripted import Scripted, Step
from bot.telemetry import Metrics
from bot.transcript import ToolCall, Usage

WEATHER = {"location": "{location}", "condition": "Sunny", "current_temp_c": "9", "days": []}
ASKED = Question(
    "weather-en",
    "follow_up",
    "en",
    "And in Kobe?",
    before=[Exchange("Weather in Nara?", "Sunny.")],
    notes=["[What is remembered] Lives in Nara."],
    calls=[ExpectedCall("get_weather", {"location": Predicate(any_of=["Kobe"])})],
    says=["9"],
)
HELLO = Question("hello-ja", "no_tool", "ja", "おはよう")


async def ask(
    steps: list[Step], *questions: Question, limits: Limits | None = None
) -> tuple[list[Attempt], Scripted]:
    """Ask the questions once each, one at a time."""
    model = Scripted(steps)
    tools = canned_tools(
        questions, {"get_weather": WEATHER, "write_file": {"path": "a", "bytes": 1}}
    )
    agent = Agent(model, tools, "SYSTEM", Metrics())
    done: list[Attempt] = []
    attempts = await run_questions(
        agent, questions, limits or Limits(repeat=1, parallel=1), done.append
    )
    assert sorted(done, key=id) == sorted(attempts, key=id)
    return attempts, model


def weather(place: str, tokens: int = 0) -> Step:
    """A scripted call."""
    return Step(
        calls=(ToolCall("", "get_weather", {"location": place}),), usage=Usage(tokens, 0, tokens)
    )


async def test_a_scripted_right_answer_is_right() -> None:
    """With the tokens of all its requests."""
    (attempt,), model = await ask(
        [weather("Kobe", 7), Step("9 °C in Kobe", usage=Usage(5, 0, 3))], ASKED
    )
    assert (attempt.is_right, attempt.usage, attempt.model) == (True, Usage(12, 0, 10), "scripted")
    first = model.requests[0]
    assert [message.role for message in first.messages] == ["user", "model", "user", "user"]
    assert first.messages[0].context == "[Friday 2026-11-20 09:30 Asia/Tokyo, line, 1:1]"
    assert first.messages[2].text == "[What is remembered] Lives in Nara."
    assert (first.messages[3].text, first.system) == ("And in Kobe?", "SYSTEM")
    assert "run_command" in {tool.name for tool in first.tools}


async def test_a_scripted_wrong_call_is_wrong() -> None:
    """And the attempt says which."""
    (attempt,), _ = await ask([weather("Oslo"), Step("9 °C")], ASKED)
    assert (attempt.wrong, attempt.error) == ('called get_weather({"location":"Oslo"})', "")


async def test_a_call_that_acts_is_approved_and_does_nothing() -> None:
    """What matters is whether it was made."""
    write = Step(calls=(ToolCall("", "write_file", {"path": "a", "content": "b"}),))
    (attempt,), model = await ask([write, Step("おはよう")], HELLO)
    assert attempt.wrong == 'called write_file({"path":"a","content":"b"})'
    assert model.requests[1].messages[-1].results[0].response == {"path": "a", "bytes": 1}


async def test_tools_may_be_found_by_a_search() -> None:
    """Nothing is declared but the search; a search is no call that counts."""
    find = Step(calls=(ToolCall("", "find_tools", {"query": "weather"}),))
    model = Scripted([find, weather("Kobe"), Step("9 °C")])
    tools = canned_tools([ASKED], {"get_weather": WEATHER}, by_search=True)
    agent = Agent(model, tools, "SYSTEM", Metrics())
    (attempt,) = await run_questions(agent, [ASKED], Limits(repeat=1), lambda _attempt: None)
    assert attempt.wrong == ""
    offered = [[tool.name for tool in request.tools] for request in model.requests]
    assert offered[0] == ["find_tools"]
    assert "get_weather" in offered[1]


async def test_an_error_of_the_model_fails_its_question_alone() -> None:
    """A refusal, an answer that cannot be used; they are told apart from wrong answers."""
    refused = Step(error=RequestRefused("failed", "too much of it"))
    attempts, _ = await ask(
        [refused, Step(stop_reason="malformed"), Step("おはよう")], HELLO, ASKED, HELLO
    )
    assert [(attempt.wrong, attempt.error) for attempt in attempts] == [
        ("", "too much of it"),
        ("", "scripted gave no usable answer: malformed "),
        ("", ""),
    ]
    assert [attempt.is_right for attempt in attempts] == [False, False, True]


async def test_an_answer_that_takes_too_long_is_an_error() -> None:
    """The others go on."""
    attempts, _ = await ask(
        [Step("おはよう", gate=asyncio.Event()), Step("おはよう")],
        HELLO,
        HELLO,
        limits=Limits(repeat=1, parallel=1, timeout_s=0.05),
    )
    assert [attempt.error for attempt in attempts] == ["no answer in 0.05 s", ""]


async def test_only_so_many_questions_are_asked_at_once() -> None:
    """Each as often as wanted; the attempts come in the order of the questions."""
    gate = asyncio.Event()
    steps = [Step("おはよう", gate=gate) for _ in range(6)]
    model = Scripted(steps)
    agent = Agent(model, canned_tools([HELLO, ASKED], {}), "SYSTEM", Metrics())
    running = asyncio.create_task(
        run_questions(agent, [HELLO, ASKED], Limits(repeat=3, parallel=2), lambda _attempt: None)
    )
    await asyncio.gather(steps[0].at_gate.wait(), steps[1].at_gate.wait())
    assert len(model.requests) == 2
    gate.set()
    assert [attempt.question for attempt in await running] == ["hello-ja"] * 3 + ["weather-en"] * 3
