"""Background tasks, which end with the channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog

log = structlog.stdlib.get_logger(__name__)

GRACE_S = 3.0


class BackgroundTasks:
    """Tasks that nobody waits for.

    Args:
        grace_s: how long running tasks may go on after ``close``.
    """

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self._grace_s = grace_s
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task; its failure is only logged."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("slack.task_failed", cause=type(error).__name__, exc_info=error)

    async def join(self) -> None:
        """Wait until no task runs."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """Give running tasks a moment, then cancel them."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=self._grace_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


@asynccontextmanager
async def background_task(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """A task that is cancelled when the context ends."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def wait_for_event(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event for at most ``seconds``."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
