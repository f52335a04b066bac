"""Background tasks, which end with the channel, and the intervals at which they work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import structlog

log = structlog.stdlib.get_logger(__name__)

GRACE_S = 3.0


@dataclass(frozen=True, slots=True)
class Timing:
    """Times and intervals, in seconds.

    Attributes:
        settle_s: how long Slack may take to show a message that was posted with an unknown outcome.
        lookup_timeout_s: for the lookups before a turn.
        pace_s: between two changes of a status, or of a stream.
        start_s: between the beginnings of two streams.
        card_s: a tool call that takes longer begins a stream that shows its card.
        status_after_s: a turn that takes longer gets a status; a faster answer saves two calls.
        stop_after_s: a turn that takes longer gets a stop button.
        again_s: before the bot's own ids are asked for again; ``refused_s`` if the token was
            refused.
        ping_s: how often a Socket Mode connection is checked.
        ticket_s: how long the URL of a Socket Mode connection is valid.
    """

    settle_s: float = 1.0
    lookup_timeout_s: float = 5.0
    pace_s: float = 1.0
    start_s: float = 3.0
    card_s: float = 1.5
    status_after_s: float = 0.5
    stop_after_s: float = 3.0
    again_s: float = 15.0
    refused_s: float = 300.0
    ping_s: float = 5.0
    ticket_s: float = 20.0


class Pauses:
    """Times until which something is not tried, by its name."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def left_s(self, name: str) -> float:
        """Seconds; 0 once they are over."""
        return max(self._until.get(name, 0.0) - time.monotonic(), 0.0)

    def begin(self, name: str, seconds: float) -> None:
        """Begin anew."""
        now = time.monotonic()
        self._until = {paused: until for paused, until in self._until.items() if until > now}
        self._until[name] = now + seconds


class BackgroundTasks:
    """Tasks of the channel; ``close`` ends them.

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


async def wait_for_event(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event for at most ``seconds``."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
