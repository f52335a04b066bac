"""The bytes of files that all turns of a process may hold at once."""

from __future__ import annotations

import asyncio
from collections import deque

from bot.file_types import MIB

IN_FLIGHT = 48 * MIB
WAIT_S = 30.0  # for files of other turns; then the request goes without files


class ByteSemaphore:
    """Like ``asyncio.Semaphore``, of bytes; first come, first served: small requests do not
    overtake a large one.

    Args:
        wait_s: how long ``acquire`` waits.
    """

    def __init__(self, size: int, wait_s: float = WAIT_S) -> None:
        self._free = size
        self._wait_s = wait_s
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def has(self, size: int) -> bool:
        """Whether ``acquire`` would return at once."""
        return size <= self._free and not self._waiting

    async def acquire(self, size: int) -> None:
        """Take bytes, as soon as they are free.

        Raises:
            TimeoutError: they were not free within ``wait_s``.
        """
        if self.has(size):
            self._free -= size
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, granted))
        try:
            async with asyncio.timeout(self._wait_s):
                await granted
        except (asyncio.CancelledError, TimeoutError):
            if granted.cancelled():
                self._grant()
            else:
                self.release(size)
            raise

    def release(self, size: int) -> None:
        """Return bytes."""
        self._free += size
        self._grant()

    def _grant(self) -> None:
        while self._waiting and (
            self._waiting[0][1].cancelled() or self._waiting[0][0] <= self._free
        ):
            size, granted = self._waiting.popleft()
            if not granted.cancelled():
                self._free -= size
                granted.set_result(None)
