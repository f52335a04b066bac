"""The limits of a turn's calls: how many, how much they read, and how many of one tool; one result
for each call."""

from __future__ import annotations

from typing import Any, ClassVar

from bot.agent.hooks import Hooks
from bot.agent.provenance import Provenance
from bot.agent.tool_runner import CALLED_ENOUGH, ToolRunner
from bot.agent.turn import (
    MOST_CALLS,
    MOST_CALLS_OF_TURN,
    MOST_READ,
    TOO_MANY_CALLS,
    TOO_MUCH_READ,
)
from bot.live_events import ToolFinished, ToolStarted
from bot.transcript import ToolResult, encode
from tests.bot.pipeline.tool_rounds import Round, call
from tests.fakes.tools import Echo, tool_map
from toolset.tool import FOREIGN_PER_TURN, ToolContext

KIB = 1024


class Page(Echo):
    """Answers with a text of so many characters."""

    name: ClassVar[str] = "page"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        await super().call(arguments, context)
        return {"text": "x" * arguments["characters"]}


def echoes(number: int, prefix: str = "c") -> list[Any]:
    return [call("echo", f"{prefix}{index}", n=f"{prefix}{index}") for index in range(number)]


async def test_calls_beyond_those_of_a_response_are_not_made() -> None:
    """Each of them has its error result, in call order; they are neither recorded nor shown."""
    round_ = Round(*echoes(MOST_CALLS + 2))
    results = await round_.run()
    assert [result.call_id for result in results] == [
        f"c{index}" for index in range(MOST_CALLS + 2)
    ]
    assert [result.is_error for result in results] == [False] * MOST_CALLS + [True] * 2
    assert round_.responses()[-2:] == [{"error": TOO_MANY_CALLS}] * 2
    assert len(round_.echo.contexts) == MOST_CALLS
    assert len(round_.diary.events) == MOST_CALLS
    assert (
        len([event for event in round_.diary.shown if isinstance(event, ToolStarted)]) == MOST_CALLS
    )


async def test_calls_beyond_those_of_a_turn_are_not_made() -> None:
    """The last response with room gets as many as are left, the next one none; its round is over at
    once."""
    round_ = Round(*echoes(MOST_CALLS, "a"))
    await round_.run()
    for prefix in "bcd":
        round_.respond(*echoes(MOST_CALLS, prefix))
        if round_.turn.calls:
            await round_.run()
    made = [
        [result.is_error for result in message.results].count(False)
        for message in round_.turn.added
    ]
    assert made == [0, 0, MOST_CALLS, 0, MOST_CALLS, 0, MOST_CALLS_OF_TURN - 2 * MOST_CALLS, 0, 0]
    assert len(round_.echo.contexts) == MOST_CALLS_OF_TURN
    assert len(round_.turn.added[-1].results) == MOST_CALLS


async def test_a_turn_that_goes_on_refuses_the_same_calls() -> None:
    """Refusals are not in the journal; the recorded response and results give the same
    transcript."""
    first = Round(*echoes(MOST_CALLS + 1))
    results = await first.run()
    again = Round(*echoes(MOST_CALLS + 1))
    for result in results[:MOST_CALLS]:
        again.turn.restore(result)
    assert again.turn.added[-1].results == tuple(results)


async def test_results_beyond_what_a_turn_may_read_are_left_out() -> None:
    """The calls were made; the model reads that their results are missing, in this round and in
    later ones."""
    page = Page()
    size = 60 * KIB
    round_ = Round(*[call("page", f"p{index}", characters=size + index) for index in range(10)])
    results = await round_.run(tool_map(page, round_.echo))
    assert len(page.contexts) == 10
    left_out = [result for result in results if result.response == {"error": TOO_MUCH_READ}]
    assert len(left_out) == 2
    assert all(result.is_error for result in left_out)
    assert sum(len(encode(result)) for result in results if not result.is_error) <= MOST_READ
    shown = [
        event.response
        for event in round_.diary.shown
        if isinstance(event, ToolFinished) and event.is_error
    ]
    assert shown == [{"error": TOO_MUCH_READ}] * 2
    round_.respond(call("page", "more", characters=size), call("echo", "small", n=1))
    await round_.run(tool_map(page, round_.echo))
    assert round_.responses() == [{"error": TOO_MUCH_READ}, {"heard": {"n": 1}}]


async def test_what_was_read_before_a_crash_counts() -> None:
    """The results of the journal are a part of what the turn has read."""
    round_ = Round(call("page", "before", characters=1), call("page", "after", characters=1_000))
    round_.turn.restore(ToolResult("before", "page", {"text": "x" * MOST_READ}))
    await round_.run(tool_map(Page()))
    assert round_.responses()[1] == {"error": TOO_MUCH_READ}


async def test_a_tool_of_a_foreign_server_is_called_so_often_a_turn() -> None:
    """In all rounds together; other tools go on, and the model reads why."""
    search = type("Search", (Page,), {"foreign": True})()
    round_ = Round(*[call("page", f"a{index}", characters=index) for index in range(6)])
    tools = tool_map(search, round_.echo)
    await round_.run(tools)
    round_.respond(
        *[call("page", f"b{index}", characters=10 + index) for index in range(4)],
        call("echo", "e", n=1),
    )
    results = await round_.run(tools)
    refused = {"error": CALLED_ENOUGH.format(name="page", limit=FOREIGN_PER_TURN)}
    assert [result.response == refused for result in results] == [False, False, True, True, False]
    assert len(search.contexts) == FOREIGN_PER_TURN
    assert len(round_.echo.contexts) == 1


async def test_an_error_is_never_left_out() -> None:
    """Why a call failed or was not made matters more than its few bytes."""
    round_ = Round(call("page", "before", characters=1), call("echo", "open", n=1))
    round_.turn.restore(ToolResult("before", "page", {"text": "x" * MOST_READ}))
    tools = tool_map(round_.echo)
    provenance = Provenance(round_.turn, tools)
    runner = ToolRunner(lambda: tools, Hooks(()), round_.metrics, provenance)
    await runner.close(round_.turn, "cancelled")
    assert round_.responses()[1] == {"error": "cancelled"}
