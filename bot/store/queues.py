"""Requests that wait for a connection: ``Batches`` for one server, ``Slots`` for a cluster.

One request alone leaves at once; what comes in while others are under way leaves with the next
batch. When hundreds come in at the same moment, a batch costs the event loop a third of what they
cost one by one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

PREFETCHED_S = 2.0
LATER_S = 1.0  # until what can wait for another batch leaves by itself
# commands in a batch, unless one request has more: parsing the replies blocks the event loop
MAX_BATCH = 64

Command = tuple[Any, ...]
# Commands that read together.
Read = tuple[Command, ...]


class Request(NamedTuple):
    """Commands that stay together, redis-py's options for parsing their replies, and the future of
    the results."""

    commands: Sequence[Command]
    options: dict[str, Any]
    results: asyncio.Future[list[Any]]

    def fail(self, error: BaseException) -> None:
        """Raise an error for the waiting caller, if it still waits."""
        if not self.results.done():
            self.results.set_exception(error)


Send = Callable[[list[Request]], Coroutine[Any, Any, None]]
Ask = Callable[[Sequence[Command]], asyncio.Future[list[Any]]]


class Batches:
    """Passes requests to ``send`` in batches.

    Args:
        send: sets the results of each request of a batch; an exception fails those that have none
            yet.
        limit: batches at once.
        answer_s: limit for a batch, not counting the time in the queue. When a batch takes longer,
            all waiting requests fail too: the store would not answer those either.
    """

    def __init__(self, send: Send, limit: int, answer_s: float) -> None:
        self._send = send
        self._free = limit
        self._answer_s = answer_s
        self._waiting: deque[Request] = deque()
        self._sending: set[asyncio.Task[None]] = set()
        self._later: list[Request] = []
        self._is_called = False
        self._is_closed = False

    def submit(
        self, commands: Sequence[Command], options: dict[str, Any]
    ) -> asyncio.Future[list[Any]]:
        """Queue a request; cancelled before it is sent, it is not sent."""
        loop = asyncio.get_running_loop()
        results: asyncio.Future[list[Any]] = loop.create_future()
        if self._is_closed:
            results.set_exception(ConnectionError("closed"))
            return results
        self._waiting += [*self._take_later(), Request(commands, options, results)]
        if self._free and not self._is_called:
            self._is_called = True
            loop.call_soon(
                self._start_batches
            )  # requests of the same round of the loop share a batch
        return results

    def submit_later(self, commands: Sequence[Command]) -> asyncio.Future[list[Any]]:
        """Send a request with the next batch, at the latest after ``LATER_S``."""
        if self._is_closed:
            return self.submit(commands, {})
        loop = asyncio.get_running_loop()
        results: asyncio.Future[list[Any]] = loop.create_future()
        if not self._later:
            loop.call_later(LATER_S, self._start_later)
        self._later.append(Request(commands, {}, results))
        return results

    async def aclose(self) -> None:
        """Send what could wait, fail all other waiting requests, and cancel the batches under
        way."""
        self._is_closed = True
        if later := self._take_later():
            await self._run(later)
        _fail(self._waiting, ConnectionError("closed"))
        self._waiting.clear()
        for sending in self._sending:
            sending.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    def _start_batches(self) -> None:
        self._is_called = False
        while self._free and (batch := self._next()):
            self._free -= 1
            sending = asyncio.create_task(self._run(batch))
            self._sending.add(sending)
            sending.add_done_callback(partial(self._on_batch_end, batch))

    def _start_later(self) -> None:
        self._waiting.extend(self._take_later())
        if not self._is_called:
            self._start_batches()

    def _take_later(self) -> list[Request]:
        later, self._later = self._later, []
        return later

    def _next(self) -> list[Request]:
        batch: list[Request] = []
        commands = 0
        while self._waiting and commands < MAX_BATCH:
            request = self._waiting.popleft()
            if not request.results.done():
                batch.append(request)
                commands += len(request.commands)
        return batch + self._take_later() if batch and not self._waiting else batch

    def _on_batch_end(self, batch: list[Request], sending: asyncio.Task[None]) -> None:
        self._sending.discard(sending)
        if sending.cancelled():
            _fail(batch, ConnectionError("closed"))
        self._free += 1
        self._start_batches()

    async def _run(self, batch: list[Request]) -> None:
        try:
            async with asyncio.timeout(self._answer_s):
                await self._send(batch)
        except TimeoutError as error:
            batch += self._waiting
            self._waiting.clear()
            _fail(batch, error)
        # whatever it is, it is raised where somebody waits
        except Exception as error:  # noqa: BLE001
            _fail(batch, error)


def _fail(batch: Iterable[Request], error: BaseException) -> None:
    for request in batch:
        request.fail(error)


class Slots:
    """A limited number of requests at once; the others are queued, first come, first served.

    The time in the queue does not count. But when the store does not answer one request, all queued
    ones fail with it.
    """

    def __init__(self, slots: int, answer_s: float) -> None:
        self._free = slots
        self._answer_s = answer_s
        self._queue: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot, and hold it while the context is open, at most ``answer_s``.

        Raises:
            TimeoutError: the store did not answer in time, this request or one it was queued
                behind.
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
            if (
                turn.done() and not turn.cancelled() and turn.exception() is None
            ):  # its turn came at that moment
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


class Prefetches:
    """Reads that leave with the process's next request, each for one caller that comes within
    ``PREFETCHED_S``.

    Args:
        later: sends commands with the next batch.
        soon: sends them now.
    """

    def __init__(self, later: Ask, soon: Ask) -> None:
        self._later = later
        self._soon = soon
        self._reads: dict[Read, asyncio.Future[list[Any]]] = {}

    def begin(self, read: Read) -> None:
        """Send a read, unless it is under way."""
        if read not in self._reads:
            reading = self._reads[read] = self._later(read)
            reading.add_done_callback(ignore_failure)
            asyncio.get_running_loop().call_later(PREFETCHED_S, self._reads.pop, read, None)

    def take(self, read: Read) -> asyncio.Future[list[Any]]:
        """The read that has begun, or a new one; its replies."""
        return self._reads.pop(read, None) or self._soon(read)

    def drop(self, read: Read) -> None:
        """Forget a read whose value changes now."""
        self._reads.pop(read, None)

    def clear(self) -> None:
        """Forget all."""
        self._reads.clear()


def ignore_failure(done: asyncio.Future[list[Any]]) -> None:
    """Take the exception, so that asyncio does not report it."""
    if not done.cancelled():
        _ = done.exception()
