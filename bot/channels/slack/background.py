"""Work that nobody waits for: begun at the door or beside a turn, ended with the channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog

log = structlog.stdlib.get_logger(__name__)

GRACE_S = 3.0


class Background:
    """Holds on to tasks, so that they run to their end.

    Args:
        grace_s: what is under way at the end may go on for so long.
    """

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self._grace_s = grace_s
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin; a failure is logged, and nothing else."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("slack.task_failed", cause=type(error).__name__, exc_info=error)

    async def settled(self) -> None:
        """Wait until nothing is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Give what is under way a moment, then end it."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=self._grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


@asynccontextmanager
async def during(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Let something go on for as long as the context lasts."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def wait(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but no longer than that."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
