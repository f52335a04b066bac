"""Who does the work when: Docket carries hints between processes, the sweep needs none, a terminal works for itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from docket import Docket
from docket import Worker as DocketWorker
from docket._redis import RedisConnection

from bot.errors import StoreUnavailable
from bot.store import STORE_FAILURES, Store, few

log = structlog.stdlib.get_logger(__name__)

Attend = Callable[[str], Awaitable[None]]
Service = Callable[[], Coroutine[Any, Any, None]]

DOCKET = "kaiwa"  # the prefix of Docket's own keys
CONCURRENCY = 2000  # conversations at once in one process
SLOTS = 32  # hints Docket takes at once; when all are taken it rests for 0.25 s
CONNECTIONS = 2  # for Docket's requests; one more listens for strikes, one more for cancellations
REDELIVERY = timedelta(seconds=10)
RECONNECT = timedelta(seconds=1)
SWEEP_S = 1.0
SWEEP_LIMIT = 500  # conversations a sweep brings back at most
HINT_S = 1.0  # for one hint: a webhook's sender waits for it
DRAIN_S = 22.0  # for running turns at shutdown
LAST_S = 1.5  # for whatever has been cancelled


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


class FewConnections(RedisConnection):
    """Docket's way to Redis: its own pool would open a connection for each request at a time."""

    async def _connection_pool_from_url(self, *arguments: Any, **options: Any) -> Any:
        return few(await super()._connection_pool_from_url(*arguments, **options), CONNECTIONS)


@asynccontextmanager
async def open_docket(url: str) -> AsyncIterator[Docket]:
    """Docket on this Redis, with its one task known by name so that a web process can add it."""
    docket = Docket(name=DOCKET, url=url, execution_ttl=timedelta(0))
    docket._redis = FewConnections(url)
    async with docket:
        docket.register(_not_here, names=["turn"])
        yield docket


class Worker:
    """Works for every conversation: takes hints, and sweeps the due index in case one was lost.

    A hint only starts the work here, so that Docket's slots are soon free again; what the sweep finds is started
    without Docket, which takes no jobs while it waits for Redis to come back.

    Args:
        hurry: ends the time that running turns get at a shutdown.
        beside: what else runs for as long as this worker takes work.
        drain_s: seconds of that time.
    """

    def __init__(
        self,
        docket: Docket,
        store: Store,
        attend: Attend,
        hurry: asyncio.Event,
        beside: Sequence[Service] = (),
        drain_s: float = DRAIN_S,
    ) -> None:
        self._docket = docket
        self._store = store
        self._attend = attend
        self._hurry = hurry
        self._beside = beside
        self._drain_s = drain_s
        self._at_work: dict[str, asyncio.Task[None]] = {}
        self._services: tuple[asyncio.Task[None], ...] = ()

    @property
    def alive(self) -> bool:
        """Whether this worker takes work."""
        return bool(self._services) and not any(service.done() for service in self._services)

    async def ended(self) -> None:
        """Wait until this worker takes no work any more, which it should not do by itself.

        Raises:
            Exception: why it has ended.
        """
        done, _ = await asyncio.wait(self._services, return_when=asyncio.FIRST_COMPLETED)
        for service in done:
            service.result()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work while the context is open; on the way out running turns get their time, then are left for others."""
        self._docket.register(self._hint, names=["turn"])
        async with DocketWorker(
            self._docket,
            concurrency=SLOTS,
            redelivery_timeout=REDELIVERY,
            reconnection_delay=RECONNECT,
            schedule_automatic_tasks=False,
        ) as worker:
            services = (_take_hints(worker), self._sweep(), *(service() for service in self._beside))
            self._services = tuple(map(asyncio.create_task, services))
            try:
                yield
            finally:
                await self._drain()

    async def _hint(self, conversation: str) -> None:
        self._start(conversation)

    def _start(self, conversation: str) -> None:
        """Attend to a conversation, unless that is under way; what finds no place here stays due."""
        if conversation not in self._at_work and len(self._at_work) < CONCURRENCY:
            task = asyncio.create_task(self._work(conversation))
            self._at_work[conversation] = task
            task.add_done_callback(partial(self._forget, conversation))

    def _forget(self, conversation: str, _task: asyncio.Task[None]) -> None:
        del self._at_work[conversation]

    async def _work(self, conversation: str) -> None:
        try:
            await self._attend(conversation)
        except StoreUnavailable as error:
            log.warning("store away, the sweep will find the conversation", error=str(error))

    async def _drain(self) -> None:
        """Let running turns finish, then cancel what is left. Docket may need two cancels to give up its clean-up."""
        for service in self._services:
            service.cancel()
        await self._last_turns()
        turns = list(self._at_work.values())
        for turn in turns:
            turn.cancel()
        await asyncio.wait((*turns, *self._services), timeout=LAST_S)
        late = [service for service in self._services if not service.done()]
        for service in late:
            service.cancel()
        if late:
            await asyncio.wait(late, timeout=LAST_S)

    async def _last_turns(self) -> None:
        """Wait for running turns until their time is over."""
        over = asyncio.create_task(self._hurry.wait())
        turns = asyncio.gather(*self._at_work.values(), return_exceptions=True)
        await asyncio.wait((over, turns), timeout=self._drain_s, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            try:
                for conversation in await self._store.leases.due(SWEEP_LIMIT):
                    self._start(conversation)
            except StoreUnavailable as error:
                log.warning("sweep failed", error=str(error))


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


async def _take_hints(worker: DocketWorker) -> None:
    """Docket waits until a server comes back, but gives up where no node of a cluster answers."""
    while True:
        try:
            return await worker.run_forever()
        except* STORE_FAILURES:
            log.warning("no hints meanwhile, the sweep goes on")
        await asyncio.sleep(RECONNECT.total_seconds())


async def _not_here(conversation: str) -> None:
    """Stands for the task in processes that only add it."""
    raise NotImplementedError
