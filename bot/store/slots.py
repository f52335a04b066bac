"""Slots: a queue for a cluster's connections; while requests are answered those behind wait, else all fail at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Slots:
    """A limited number of requests at once; the others are queued, first come, first served.

    The time in the queue says nothing about the store. But a store that does not answer one request will not answer
    the next either: then all queued requests fail at once.
    """

    def __init__(self, slots: int, answer_s: float) -> None:
        self._free = slots
        self._answer_s = answer_s
        self._queue: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot, and hold it while the context is open, at most ``answer_s``.

        Raises:
            TimeoutError: the store did not answer in time, this request or one it was queued behind.
        """
        await self._acquire()
        try:
            async with asyncio.timeout(self._answer_s):
                yield
        except TimeoutError:
            self._fail_queued()
            raise
        finally:
            self._release()

    async def _acquire(self) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:  # its turn came at that moment
                self._release()
            raise

    def _release(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _fail_queued(self) -> None:
        for turn in self._queue:
            if not turn.done():
                turn.set_exception(TimeoutError())
        self._queue.clear()
