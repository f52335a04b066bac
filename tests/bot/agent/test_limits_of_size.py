"""A request that would cost more than the day has left: without tools, and with as much of the
results as there is."""

from __future__ import annotations

import time
from typing import Any

import pytest

from bot.agent.loop import CUT, LEAST_CHARACTERS, Agent, room_for_results, with_results_cut
from bot.agent.turn import Turn, TurnContext
from bot.providers import NONE
from bot.providers.scripted import Scripted, Step
from bot.telemetry import Metrics
from bot.transcript import Message, Opaque, Quote, Text, ToolCall, ToolResult, Usage, encode
from tests.bot.agent.test_limits import Page
from tests.bot.agent.test_loop import Notes, user
from tests.fakes.tools import tool_map

KIB = 1024


def read(call_id: str, text: str) -> ToolResult:
    return ToolResult(call_id, "page", {"text": text})


def results_of(*results: ToolResult) -> Message:
    return Message("results", "tool", results, 1)


def size_of(message: Message) -> int:
    return sum(len(encode(result.response).decode()) for result in message.results)


def test_a_request_within_what_is_left_and_a_fifth_is_made_as_it_is() -> None:
    """Three characters are a token, in any script."""
    messages = [user("あ" * 3_600)]
    assert room_for_results(messages, None) is None
    assert room_for_results(messages, 1_000) is None
    assert room_for_results(messages, 999) is not None


def test_the_results_get_what_the_rest_leaves_and_never_too_little_to_answer() -> None:
    """What people and the model wrote is not cut."""
    messages = [user("x" * 3_000), results_of(read("a", "y" * 100_000))]
    assert room_for_results(messages, 10_000) == 27_000
    assert room_for_results(messages, 1_500) == LEAST_CHARACTERS
    assert room_for_results(messages, -5) == LEAST_CHARACTERS


@pytest.mark.parametrize(
    "message",
    [
        Message("m", "user", (Text("x" * 5),), 1, context="x" * 5, quotes=(Quote("q", "x" * 5),)),
        Message("m", "model", (ToolCall("c", "page", {"n": 12345678}),), 1),
        Message("m", "model", (Text("short"),), 1, opaque=Opaque("gemini", "gemini", b"x" * 15)),
        results_of(read("a", "xxxx")),
    ],
    ids=["words", "call", "vendor's own", "result"],
)
def test_all_that_is_sent_is_estimated(message: Message) -> None:
    """Each of these has 15 characters, about."""
    assert room_for_results([message], 5) is None
    assert room_for_results([message], 3) is not None


def test_the_newest_results_are_cut_last() -> None:
    """What is left goes from the newest round to the oldest, and in a round in the order of the
    calls."""
    old, new = (
        results_of(read("a", "a" * 100)),
        results_of(read("b", "b" * 50), read("c", "c" * 50)),
    )
    shorter = with_results_cut([user("hi"), old, new], 100)
    assert shorter[0] == user("hi")
    whole, cut = shorter[2].results
    assert whole == new.results[0]
    assert cut == ToolResult("c", "page", {"output": '{"text":"' + "c" * 30 + CUT})
    assert [result.response for result in shorter[1].results] == [{"output": CUT}]


async def run(*steps: Step, tokens_left: int | None, history: tuple[Message, ...] = ()) -> Scripted:
    model, notes = Scripted(steps), Notes()
    context = TurnContext("console:x", "", "en", "UTC", notes, tokens_left=tokens_left)
    turn = Turn("t1", context, history, [user("Read it all")], notes, time.monotonic() + 30)
    await Agent(model, tool_map(Page()), "SYSTEM", Metrics()).run(turn)
    return model


def reading(number: int, **about: Any) -> Step:
    calls = tuple(
        ToolCall(f"c{index}", "page", {"characters": 45 * KIB + index}) for index in range(number)
    )
    return Step(calls=calls, **about)


async def test_a_turn_that_has_read_too_much_for_the_day_is_answered_without_tools() -> None:
    """The model's next request has no more of its results than is left, and it must answer."""
    model = await run(reading(10, usage=Usage(500)), Step("Done"), tokens_left=2_000)
    first, second = model.requests
    assert first.tool_choice.mode == "auto"
    assert second.tool_choice == NONE
    assert size_of(second.messages[-1]) <= 1_500 * 3 + 10 * len('{"output":""}') + 10 * len(CUT)


async def test_what_the_turn_itself_has_spent_is_no_longer_left() -> None:
    """A small result costs little, but the request before has used up everything."""
    steps = (
        Step(calls=(ToolCall("c1", "page", {"characters": 10}),), usage=Usage(1_000, 0, 900, 200)),
        Step("Done"),
    )
    model = await run(*steps, tokens_left=2_000)
    assert [request.tool_choice.mode for request in model.requests] == ["auto", "none"]
    assert model.requests[1].messages[-1].results == (read("c1", "x" * 10),)


async def test_a_history_that_is_too_large_for_the_day_is_cut_too() -> None:
    """What was read yesterday costs again today."""
    history = (
        user("before"),
        Message("m", "model", (ToolCall("h", "page", {}),), 1),
        results_of(read("h", "x" * 90_000)),
    )
    model = await run(Step("Done"), tokens_left=1_000, history=history)
    (request,) = model.requests
    assert request.tool_choice == NONE
    assert size_of(request.messages[2]) < LEAST_CHARACTERS + 100


async def test_without_a_limit_nothing_is_cut() -> None:
    """Whoever sets no limit pays for all of it."""
    model = await run(reading(3), Step("Done"), tokens_left=None)
    assert model.requests[1].tool_choice.mode == "auto"
    assert size_of(model.requests[1].messages[-1]) > 3 * 45 * KIB
