"""Who does the work when: Docket carries hints between processes, the sweep needs none, a terminal works for itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial

import structlog
from docket import Docket
from docket import Worker as DocketWorker

from bot.errors import StoreUnavailable
from bot.store import STORE_FAILURES, Store

log = structlog.stdlib.get_logger(__name__)

Attend = Callable[[str], Awaitable[None]]

DOCKET = "kaiwa"  # the prefix of Docket's own keys
CONCURRENCY = 2000  # conversations at once in one process
REDELIVERY = timedelta(seconds=10)
RECONNECT = timedelta(seconds=1)
SWEEP_S = 1.0
SWEEP_LIMIT = 500  # conversations a sweep brings back at most
HINT_S = 1.0  # for one hint: a webhook's sender waits for it
DRAIN_S = 25.0  # for running turns at shutdown


class DocketJobs:
    """Hints through Docket (``bot.intake.Jobs``): any worker on the same Redis may take one."""

    def __init__(self, docket: Docket) -> None:
        self._docket = docket

    async def add(self, conversation: str, key: str) -> None:
        try:
            async with asyncio.timeout(HINT_S):
                await self._docket.add("turn", key=key)(conversation)
        except (*STORE_FAILURES, TimeoutError) as error:
            log.warning("hint lost, the sweep will find the conversation", error=type(error).__name__)


@asynccontextmanager
async def open_docket(url: str) -> AsyncIterator[Docket]:
    """Docket on this Redis, with its one task known by name so that a web process can add it."""
    async with Docket(name=DOCKET, url=url, execution_ttl=timedelta(0)) as docket:
        docket.register(_not_here, names=["turn"])
        yield docket


class Worker:
    """Works for every conversation: takes hints, and sweeps the due index in case one was lost.

    What the sweep finds is attended to here and now, without Docket: while Docket's worker waits for Redis to come
    back it takes no jobs, and nobody's message waits for that.

    Args:
        drain_s: seconds that running turns get at a shutdown.
    """

    def __init__(self, docket: Docket, store: Store, attend: Attend, drain_s: float = DRAIN_S) -> None:
        self._docket = docket
        self._store = store
        self._attend = attend
        self._drain_s = drain_s
        self._found: dict[str, asyncio.Task[None]] = {}
        self._running: asyncio.Task[None] | None = None

    @property
    def alive(self) -> bool:
        """Whether this worker takes work."""
        return self._running is not None and not self._running.done()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work while the context is open; on the way out running turns get their time, then are left for others."""
        self._docket.register(self._work, names=["turn"])
        async with DocketWorker(
            self._docket,
            concurrency=CONCURRENCY,
            redelivery_timeout=REDELIVERY,
            reconnection_delay=RECONNECT,
            schedule_automatic_tasks=False,
        ) as worker:
            self._running = asyncio.create_task(worker.run_forever())
            sweeping = asyncio.create_task(self._sweep())
            try:
                yield
            finally:
                sweeping.cancel()
                await self._drain(self._running)

    async def _work(self, conversation: str) -> None:
        try:
            await self._attend(conversation)
        except StoreUnavailable as error:
            log.warning("store away, the sweep will find the conversation", error=str(error))

    async def _drain(self, jobs: asyncio.Task[None]) -> None:
        """Cancelled once, Docket's worker lets its turns finish; a second time, it cancels them."""
        jobs.cancel()
        _, late = await asyncio.wait({jobs, *self._found.values()}, timeout=self._drain_s)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            try:
                due = await self._store.leases.due(SWEEP_LIMIT)
            except StoreUnavailable as error:
                log.warning("sweep failed", error=str(error))
                continue
            for conversation in due:
                if conversation not in self._found and len(self._found) < CONCURRENCY:
                    task = asyncio.create_task(self._work(conversation))
                    self._found[conversation] = task
                    task.add_done_callback(partial(self._forget, conversation))

    def _forget(self, conversation: str, _task: asyncio.Task[None]) -> None:
        del self._found[conversation]


class OwnJobs:
    """Works for one conversation in this process alone, whatever else waits on the same Redis."""

    def __init__(self, conversation: str) -> None:
        self._conversation = conversation
        self._wake = asyncio.Event()

    async def add(self, conversation: str, key: str) -> None:
        if conversation == self._conversation:
            self._wake.set()

    @asynccontextmanager
    async def running(self, attend: Attend) -> AsyncIterator[None]:
        """Work while the context is open."""
        task = asyncio.create_task(self._run(attend))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self, attend: Attend) -> None:
        while True:
            self._wake.clear()
            try:
                await attend(self._conversation)
            except StoreUnavailable as error:
                log.warning("store away", error=str(error))
            with suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_S * 5):
                    await self._wake.wait()


async def _not_here(conversation: str) -> None:
    """Stands for the task in processes that only add it."""
    raise NotImplementedError
