"""The store's clock, estimated: processes on several machines agree on it, but not on their own
clocks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from bot.clock import now_ms
from bot.errors import StoreUnavailable

READ_EVERY_S = 60.0


class StoreClock:
    """Estimates the store's clock from this process's; they are compared once a minute.

    Args:
        local: milliseconds since the epoch by the process's own clock.
    """

    def __init__(self, local: Callable[[], int] = now_ms) -> None:
        self._local = local
        self._ahead_ms = 0

    def __call__(self) -> int:
        """Milliseconds since the epoch."""
        return self._local() + self._ahead_ms

    async def read(self, ask: Callable[[], Awaitable[int]]) -> None:
        """Compare the clocks; the store read its own in the middle between question and answer.

        Raises:
            StoreUnavailable: the estimate is as before.
        """
        asked = self._local()
        at = await ask()
        self._ahead_ms = at - (asked + self._local()) // 2

    async def follow(
        self, ask: Callable[[], Awaitable[int]], every_s: float = READ_EVERY_S
    ) -> None:
        """Compare the clocks again and again; never returns."""
        while True:
            await asyncio.sleep(every_s)
            with suppress(StoreUnavailable):
                await self.read(ask)
