"""Refusals: events that the store could not take are counted, logged once a minute, and shown in
``/readyz``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from bot.channels import Accept, InboundEvent
from bot.errors import StoreUnavailable
from bot.telemetry import Metrics
from bot.transcript import channel_of

log = structlog.stdlib.get_logger(__name__)

PAUSE_S = 60.0  # between two lines of one cause


class Refusals:
    """Passes events to the intake (``bot.channels.Accept``), and records those that it refuses.

    Args:
        alarm: called where the store is full, at the first refusal and after a minute without any.
    """

    def __init__(
        self,
        accept: Accept,
        metrics: Metrics,
        alarm: Callable[[], Awaitable[None]],
        pause_s: float = PAUSE_S,
    ) -> None:
        self._accept = accept
        self._metrics = metrics
        self._alarm = alarm
        self._pause_s = pause_s
        self._unlogged: dict[str, int] = {}  # by cause; a cause is in it for the pause after a line

    async def __call__(self, conversation: str, event: InboundEvent, /) -> bool:
        """Accept one event.

        Raises:
            StoreUnavailable: the intake has refused it.
        """
        try:
            return await self._accept(conversation, event)
        except StoreUnavailable as error:
            await self._record(channel_of(conversation), error)
            raise

    @property
    def cause(self) -> str:
        """Why events were refused within the last minute; empty if none was."""
        return next(iter(self._unlogged), "")

    async def _record(self, channel: str, error: StoreUnavailable) -> None:
        self._metrics.refused.labels(channel, error.cause).inc()
        if error.cause == "stopping":  # another process takes what is sent again
            return
        if error.cause in self._unlogged:
            self._unlogged[error.cause] += 1
            return
        self._log(error.cause, error.fix, 1)
        if error.cause == "full":
            await self._alarm()

    def _log(self, cause: str, fix: str, count: int) -> None:
        """Write a line, and have the next one written after a pause, if there is anything to
        say."""
        log.error("store.messages_refused", cause=cause, count=count, fix=fix)
        self._unlogged[cause] = 0
        asyncio.get_running_loop().call_later(self._pause_s, self._end_pause, cause, fix)

    def _end_pause(self, cause: str, fix: str) -> None:
        if count := self._unlogged.pop(cause):
            self._log(cause, fix, count)
