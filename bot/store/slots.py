"""How long a store is waited for: while it answers others, whoever is queued only waits; else it is away."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """So many at once; the others are queued, first come, first served.

    The time spent in the queue is the others' work, and says nothing about the store. But where it does not answer one
    request, it will not answer the next either: all that are queued then fail at once.
    """

    def __init__(self, places: int, answer_s: float) -> None:
        self._free = places
        self._answer_s = answer_s
        self._queue: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a place, and have it for as long as the context is open, at most ``answer_s``.

        Raises:
            TimeoutError: the store did not answer in time, this request or one it was queued behind.
        """
        await self._enter()
        try:
            async with asyncio.timeout(self._answer_s):
                yield
        except TimeoutError:
            self._send_away()
            raise
        finally:
            self._leave()

    async def _enter(self) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:  # its turn came at that moment
                self._leave()
            raise

    def _leave(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _send_away(self) -> None:
        for turn in self._queue:
            if not turn.done():
                turn.set_exception(TimeoutError())
        self._queue.clear()
