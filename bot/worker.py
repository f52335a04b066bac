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
from bot.starter import Starter
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
SWEEP_LIMIT = 100  # conversations a sweep brings back at most
HINTS = 16  # that wait to be given
HINT_S = 1.0  # for one hint
DRAIN_S = 22.0  # for running turns at shutdown
LAST_S = 1.5  # for whatever has been cancelled


class DocketJobs:
    """Hints through Docket (``bot.conversation.intake.Jobs``), for a process without a worker.

    Any worker on the same Redis may take one.

    A hint costs more than the message itself. So nobody waits for one, they leave one after another, and where many
    come in at once those that find no room are left out: a worker that runs dry sweeps at once.
    """

    def __init__(self, docket: Docket) -> None:
        self._docket = docket
        self._hints: dict[str, str] = {}  # jobs' keys by conversation, in order
        self._giving: asyncio.Task[None] | None = None

    async def add(self, conversation: str, key: str) -> None:
        if len(self._hints) < HINTS:
            self._hints[conversation] = key
        if self._giving is None or self._giving.done():
            self._giving = asyncio.create_task(self._give())

    async def aclose(self) -> None:
        """Give what is left, for as long as one hint may take."""
        if self._giving is not None:
            await asyncio.wait({self._giving}, timeout=HINT_S)
            self._giving.cancel()
            await asyncio.gather(self._giving, return_exceptions=True)

    async def _give(self) -> None:
        while self._hints:
            conversation = next(iter(self._hints))
            key = self._hints.pop(conversation)
            try:
                async with asyncio.timeout(HINT_S):
                    await self._docket.add("turn", key=key)(conversation)
            except (*STORE_FAILURES, TimeoutError) as error:
                log.warning("hint.lost", cause=type(error).__name__)


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
    """Works for every conversation: for those whose messages this process takes in, for hints of others, and for what
    it finds in the due index (``bot.conversation.intake.Jobs``).

    Whatever it is told of is queued until the loop has room for one more. What is queued here is held by nobody:
    another worker finds it in the due index, and may be first.

    Args:
        hurry: ends the time that running turns get at a shutdown.
        drain_s: seconds of that time.
    """

    def __init__(self, docket: Docket, store: Store, hurry: asyncio.Event, drain_s: float = DRAIN_S) -> None:
        self._docket = docket
        self._store = store
        self._hurry = hurry
        self._drain_s = drain_s
        self._starter = Starter(CONCURRENCY)
        self._services: tuple[asyncio.Task[None], ...] = ()

    async def add(self, conversation: str, key: str) -> None:
        """Take care of a conversation soon."""
        self._starter.add(conversation)

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
    async def running(self, process: Attend, beside: Sequence[Service] = ()) -> AsyncIterator[None]:
        """Work while the context is open; on the way out running turns get their time, then are left for others.

        Args:
            beside: what else runs for as long as this worker takes work.
        """
        self._docket.register(self._hint, names=["turn"])
        async with DocketWorker(
            self._docket,
            concurrency=SLOTS,
            redelivery_timeout=REDELIVERY,
            reconnection_delay=RECONNECT,
            schedule_automatic_tasks=False,
        ) as worker:
            starting = self._starter.run(partial(_attend, process))
            services = (_take_hints(worker), self._sweep(), starting, *(service() for service in beside))
            self._services = tuple(map(asyncio.create_task, services))
            try:
                yield
            finally:
                await self._drain()

    async def _hint(self, conversation: str) -> None:
        self._starter.add(conversation)

    async def _drain(self) -> None:
        """Let running turns finish, then cancel what is left. Docket may need two cancels to give up its clean-up."""
        for service in self._services:
            service.cancel()
        await self._last_turns()
        turns = list(self._starter.at_work)
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
        turns = asyncio.gather(*self._starter.at_work, return_exceptions=True)
        await asyncio.wait((over, turns), timeout=self._drain_s, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()

    async def _sweep(self) -> None:
        """Find what is due, about once a second; at once, where the last sweep has left something and all has begun."""
        left_some = False
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_S):
                    await (self._starter.empty.wait() if left_some else asyncio.Event().wait())
            if self._starter.waiting >= SWEEP_LIMIT:
                continue
            try:
                due = await self._store.leases.due(SWEEP_LIMIT)
            except StoreUnavailable as error:
                log.warning("sweep.failed", cause=str(error))
                due = []
            left_some = len(due) == SWEEP_LIMIT
            for conversation in due:
                self._starter.add(conversation)


class OwnJobs:
    """Works for one conversation in this process alone, whatever else waits on the same Redis."""

    def __init__(self, conversation: str) -> None:
        self._conversation = conversation
        self._wake = asyncio.Event()

    async def add(self, conversation: str, key: str) -> None:
        if conversation == self._conversation:
            self._wake.set()

    @asynccontextmanager
    async def running(self, process: Attend) -> AsyncIterator[None]:
        """Work while the context is open."""
        task = asyncio.create_task(self._run(process))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self, process: Attend) -> None:
        while True:
            self._wake.clear()
            try:
                await process(self._conversation)
            except StoreUnavailable as error:
                log.warning("store.away", cause=str(error))
            with suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_S * 5):
                    await self._wake.wait()


async def _attend(process: Attend, conversation: str) -> None:
    try:
        await process(conversation)
    except StoreUnavailable as error:
        log.warning("store.away", cause=str(error))


async def _take_hints(worker: DocketWorker) -> None:
    """Docket waits until a server comes back, but gives up where no node of a cluster answers."""
    while True:
        try:
            return await worker.run_forever()
        except* STORE_FAILURES:
            log.warning("hint.paused")
        await asyncio.sleep(RECONNECT.total_seconds())


async def _not_here(conversation: str) -> None:
    """Stands for the task in processes that only add it."""
    raise NotImplementedError
