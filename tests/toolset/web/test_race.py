"""Two sources for one answer: who is asked when, whose answer counts, and that nobody is left
running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from toolset.tool import ToolError
from toolset.web.race import BothFailed, first_answer

SLOW_S = 0.05


class Source:
    """Answers, fails or stays silent after a while, and remembers what happened to it."""

    def __init__(
        self, *, after_s: float = 0, answer: str = "", error: Exception | None = None
    ) -> None:
        self._after_s = after_s
        self._answer = answer
        self._error = error
        self.seen: list[str] = []

    async def ask(self) -> str:
        """The answer."""
        self.seen.append("asked")
        try:
            await asyncio.sleep(self._after_s)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            self.seen.append("cancelled")
            raise
        if self._error:
            raise self._error
        return self._answer


NEVER = 60.0


async def test_a_quick_first_source_is_the_only_one_asked() -> None:
    """The second is for need."""
    first, second = Source(answer="first"), Source(answer="second")
    assert await first_answer(first.ask, second.ask, 1) == "first"
    assert second.seen == []


@pytest.mark.parametrize(
    "first", [Source(after_s=NEVER), Source(error=ToolError("down"))], ids=["slow", "failed"]
)
async def test_the_second_is_asked_when_the_first_is_slow_or_fails(first: Source) -> None:
    """A slow one is cancelled, and has ended when the answer is there."""
    assert await first_answer(first.ask, Source(answer="second").ask, SLOW_S) == "second"
    assert first.seen in (["asked", "cancelled"], ["asked"])
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_a_failed_first_source_costs_no_head_start() -> None:
    """At once means at once."""
    async with asyncio.timeout(1):
        assert (
            await first_answer(
                Source(error=ToolError("down")).ask, Source(answer="second").ask, NEVER
            )
            == "second"
        )


@pytest.mark.parametrize(
    "second",
    [lambda: Source(after_s=NEVER), lambda: Source(error=ToolError("down"))],
    ids=["slower", "failed"],
)
async def test_a_late_first_answer_still_counts(second: Callable[[], Source]) -> None:
    """Whatever becomes of the second source."""
    late = Source(after_s=2 * SLOW_S, answer="first")
    assert await first_answer(late.ask, second().ask, SLOW_S) == "first"


async def test_two_failures_are_one_error() -> None:
    """With both, in the order of the sources."""
    first, second = (
        Source(after_s=2 * SLOW_S, error=ToolError("one")),
        Source(error=ToolError("two")),
    )
    with pytest.raises(BothFailed, match=r"^one$") as raised:
        await first_answer(first.ask, second.ask, SLOW_S)
    assert (str(raised.value.first), str(raised.value.second)) == ("one", "two")


async def test_a_crash_is_not_hidden_by_the_other_source() -> None:
    """It is a fault of ours, which the log must have."""
    crashing = Source(error=RuntimeError("a fault"))
    with pytest.raises(RuntimeError, match="a fault"):
        await first_answer(Source(error=ToolError("down")).ask, crashing.ask, SLOW_S)


async def test_a_cancelled_race_leaves_nobody_running() -> None:
    """Both sources have ended with it."""
    first, second = Source(after_s=NEVER), Source(after_s=NEVER)
    race: Coroutine[Any, Any, str] = first_answer(first.ask, second.ask, 0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(SLOW_S):
            await race
    assert first.seen == second.seen == ["asked", "cancelled"]
