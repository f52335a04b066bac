"""Workers: Docket carries hints between processes, the sweep reads the due index, a terminal works for itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from docket import Docket
from docket import Worker as DocketWorker
from docket._redis import RedisConnection

from bot.errors import StoreUnavailable
from bot.store import STORE_FAILURES, Store, limited_pool
from bot.tasks import run_beside

log = structlog.stdlib.get_logger(__name__)

Process = Callable[[str], Awaitable[None]]
Service = Callable[[], Coroutine[Any, Any, None]]

DOCKET = "kaiwa"  # the prefix of Docket's own keys
CONCURRENCY = 2000  # conversations at once in one process
SLOTS = 32  # hints Docket takes at once; when all are taken it rests for 0.25 s
CONNECTIONS = 2  # for Docket's requests; one more listens for strikes, one more for cancellations
REDELIVERY = timedelta(seconds=10)
RECONNECT = timedelta(seconds=1)
SWEEP_S = 1.0
SWEEP_LIMIT = 100  # conversations a sweep brings back at most
HINTS = 16  # that wait to be sent
HINT_S = 1.0  # for one hint
DRAIN_S = 22.0  # for running turns at shutdown
LAST_S = 1.5  # for whatever has been cancelled
SHORT_ROUND_S = 0.004  # a round of the event loop so short leaves room for one more turn; a webhook takes about eight
DECAY = 0.8  # how much of the longest round is remembered after each further round
MOST_ROUNDS = 5  # after so many rounds of that length one more turn begins anyway: webhooks first, but turns too


class DocketJobs:
    """Sends hints through Docket (``bot.conversation.intake.Jobs``), for a process without a worker.

    Any worker on the same Redis may take a hint. A hint costs more than the message itself, so nobody waits for one:
    hints leave one after another, and those beyond ``HINTS`` are dropped. A worker with nothing to do sweeps at once.
    """

    def __init__(self, docket: Docket) -> None:
        self._docket = docket
        self._hints: dict[str, str] = {}  # jobs' keys by conversation, in order
        self._sending: asyncio.Task[None] | None = None

    async def add(self, conversation: str, key: str) -> None:
        if len(self._hints) < HINTS:
            self._hints[conversation] = key
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def aclose(self) -> None:
        """Send what is left, for as long as one hint may take."""
        if self._sending is not None:
            await asyncio.wait({self._sending}, timeout=HINT_S)
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self) -> None:
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
        return limited_pool(await super()._connection_pool_from_url(*arguments, **options), CONNECTIONS)


@asynccontextmanager
async def open_docket(url: str) -> AsyncIterator[Docket]:
    """Docket on this Redis, with its one task known by name so that a web process can add it."""
    docket = Docket(name=DOCKET, url=url, execution_ttl=timedelta(0))
    docket._redis = FewConnections(url)
    async with docket:
        docket.register(_no_worker_here, names=["turn"])
        yield docket


class PacedQueue:
    """A queue of conversations: each begins as soon as the event loop has room, first come, first served.

    A turn costs CPU when it begins and when it ends, and nothing while it waits for a model. So the queue does not
    count turns: it times the rounds of the event loop, and begins one more turn while rounds are short.

    Args:
        at_once: conversations at work, at most.

    Attributes:
        empty: nothing waits.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._waiting: dict[str, None] = {}  # in order, each once
        self._at_work: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()  # of those at work
        self._changed = asyncio.Event()
        self.empty = asyncio.Event()
        self.empty.set()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def at_work(self) -> Iterable[asyncio.Task[None]]:
        return self._at_work.values()

    def add(self, conversation: str) -> None:
        """Queue a conversation unless it waits already; one that is at work is queued when it has ended."""
        if conversation in self._at_work:
            self._again.add(conversation)
            return
        self._waiting[conversation] = None
        self.empty.clear()
        self._changed.set()

    async def run(self, begin: Process) -> None:
        """Begin what waits; never returns."""
        loop = asyncio.get_running_loop()
        longest, begun_at, round_at = 0.0, 0.0, loop.time()
        while True:
            if not self._may_begin:
                await self._wait_for_room()
                longest, round_at = 0.0, loop.time()
            if longest <= SHORT_ROUND_S or loop.time() - begun_at >= longest * MOST_ROUNDS:
                begun_at = loop.time()
                self._begin(begin)
            await asyncio.sleep(0)
            now = loop.time()
            longest, round_at = max(now - round_at, longest * DECAY), now

    @property
    def _may_begin(self) -> bool:
        return bool(self._waiting) and len(self._at_work) < self._at_once

    async def _wait_for_room(self) -> None:
        while not self._may_begin:
            self._changed.clear()
            await self._changed.wait()

    def _begin(self, begin: Process) -> None:
        conversation = next(iter(self._waiting))
        del self._waiting[conversation]
        if not self._waiting:
            self.empty.set()
        task = asyncio.ensure_future(begin(conversation))
        self._at_work[conversation] = task
        task.add_done_callback(partial(self._end, conversation))

    def _end(self, conversation: str, _task: asyncio.Future[None]) -> None:
        del self._at_work[conversation]
        self._changed.set()
        if conversation in self._again:  # a message came in while its lease was given back
            self._again.discard(conversation)
            self.add(conversation)


class Worker:
    """Processes conversations: of this process's messages, of hints, and of the due index (``intake.Jobs``).

    Queued conversations are not leased: another worker may find one in the due index and process it first.

    Args:
        hurry: set at a second SIGTERM; running turns get no more time.
        drain_s: seconds of that time.
    """

    def __init__(self, docket: Docket, store: Store, hurry: asyncio.Event, drain_s: float = DRAIN_S) -> None:
        self._docket = docket
        self._store = store
        self._hurry = hurry
        self._drain_s = drain_s
        self._queue = PacedQueue(CONCURRENCY)
        self._services: tuple[asyncio.Task[None], ...] = ()

    async def add(self, conversation: str, key: str) -> None:
        """Process a conversation soon."""
        self._queue.add(conversation)

    @property
    def alive(self) -> bool:
        """Whether this worker takes work."""
        return bool(self._services) and not any(service.done() for service in self._services)

    async def wait_until_ended(self) -> None:
        """Wait until this worker takes no work any more, which it should not do by itself.

        Raises:
            Exception: why it has ended.
        """
        done, _ = await asyncio.wait(self._services, return_when=asyncio.FIRST_COMPLETED)
        for service in done:
            service.result()

    @asynccontextmanager
    async def running(self, process: Process, beside: Sequence[Service] = ()) -> AsyncIterator[None]:
        """Work while the context is open; on exit running turns get ``drain_s``, then other workers take them over.

        Args:
            beside: further services that run as long as the worker.
        """
        self._docket.register(self._hint, names=["turn"])
        async with DocketWorker(
            self._docket,
            concurrency=SLOTS,
            redelivery_timeout=REDELIVERY,
            reconnection_delay=RECONNECT,
            schedule_automatic_tasks=False,
        ) as worker:
            starting = self._queue.run(partial(_process, process))
            services = (_run_docket(worker), self._sweep(), starting, *(service() for service in beside))
            self._services = tuple(map(asyncio.create_task, services))
            try:
                yield
            finally:
                await self._drain()

    async def _hint(self, conversation: str) -> None:
        self._queue.add(conversation)

    async def _drain(self) -> None:
        """Let running turns finish, then cancel the rest. Docket may need two cancels to give up its clean-up."""
        for service in self._services:
            service.cancel()
        await self._wait_for_turns()
        turns = list(self._queue.at_work)
        for turn in turns:
            turn.cancel()
        await asyncio.wait((*turns, *self._services), timeout=LAST_S)
        late = [service for service in self._services if not service.done()]
        for service in late:
            service.cancel()
        if late:
            await asyncio.wait(late, timeout=LAST_S)

    async def _wait_for_turns(self) -> None:
        """Wait until running turns have ended or their time is over."""
        over = asyncio.create_task(self._hurry.wait())
        turns = asyncio.gather(*self._queue.at_work, return_exceptions=True)
        await asyncio.wait((over, turns), timeout=self._drain_s, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()

    async def _sweep(self) -> None:
        """Queue what is due, about once a second; at once where the last sweep was full and the queue is empty."""
        was_full = False
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_S):
                    await (self._queue.empty.wait() if was_full else asyncio.Event().wait())
            if self._queue.waiting >= SWEEP_LIMIT:
                continue
            try:
                due = await self._store.leases.due(SWEEP_LIMIT)
            except StoreUnavailable as error:
                log.warning("sweep.failed", cause=str(error))
                due = []
            was_full = len(due) == SWEEP_LIMIT
            for conversation in due:
                self._queue.add(conversation)


class OwnJobs:
    """Processes one conversation alone, whatever else is due on the same Redis."""

    def __init__(self, conversation: str) -> None:
        self._conversation = conversation
        self._wake = asyncio.Event()

    async def add(self, conversation: str, key: str) -> None:
        if conversation == self._conversation:
            self._wake.set()

    def running(self, process: Process) -> AbstractAsyncContextManager[None]:
        """Work while the context is open."""
        return run_beside(self._run(process))

    async def _run(self, process: Process) -> None:
        while True:
            self._wake.clear()
            try:
                await process(self._conversation)
            except StoreUnavailable as error:
                log.warning("store.away", cause=str(error))
            with suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_S * 5):
                    await self._wake.wait()


async def _process(process: Process, conversation: str) -> None:
    try:
        await process(conversation)
    except StoreUnavailable as error:
        log.warning("store.away", cause=str(error))


async def _run_docket(worker: DocketWorker) -> None:
    """Run Docket's worker, again after an outage: Docket itself gives up where no node of a cluster answers."""
    while True:
        try:
            return await worker.run_forever()
        except* STORE_FAILURES:
            log.warning("hint.paused")
        await asyncio.sleep(RECONNECT.total_seconds())


async def _no_worker_here(conversation: str) -> None:
    """Stands for the task in processes that only add it."""
    raise NotImplementedError
