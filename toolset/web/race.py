"""Two sources for one answer: the second is asked when the first fails or is slow, and the first
answer wins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from toolset.tool import ToolError

T = TypeVar("T")
Ask = Callable[[], Coroutine[Any, Any, T]]


class BothFailed(ToolError):
    """Neither source answers; the text is the first one's."""

    def __init__(self, first: ToolError, second: ToolError) -> None:
        super().__init__(str(first))
        self.first = first
        self.second = second


async def first_answer(first: Ask[T], second: Ask[T], head_start_s: float) -> T:
    """The first answer; the other source is cancelled, and has ended on return.

    Args:
        head_start_s: the second source is asked after this time, or when the first fails.

    Raises:
        BothFailed: each source raised a ``ToolError``.
    """
    tasks = [asyncio.create_task(first())]
    try:
        await asyncio.wait(tasks, timeout=head_start_s)
        if _is_open(tasks[0]):
            tasks.append(asyncio.create_task(second()))
        while all(map(_is_open, tasks)):
            running = [task for task in tasks if not task.done()]
            if not running:
                raise BothFailed(
                    *(error for task in tasks if isinstance(error := task.exception(), ToolError))
                )
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if not _is_open(task)).result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _is_open(task: asyncio.Task[T]) -> bool:
    """Whether the task has no result to hand on: it still runs, or its source has failed."""
    return not task.done() or isinstance(task.exception(), ToolError)
