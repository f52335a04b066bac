"""Workers process conversations: those of hints, which Docket carries between processes, and of the due index."""

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
SLOTS = 32  # hints Docket runs at once; when all slots are taken it sleeps for 0.25 s
CONNECTIONS = 2  # for Docket's requests; it opens one more for strikes and one for cancellations
REDELIVERY = timedelta(seconds=10)
RECONNECT = timedelta(seconds=1)
SWEEP_S = 1.0
SWEEP_LIMIT = 100  # conversations of one sweep at most
MAX_HINTS = 16  # that wait to be sent
HINT_TIMEOUT_S = 1.0  # of sending one hint
DRAIN_S = 22.0  # that running turns get at shutdown
CANCEL_S = 1.5  # that cancelled tasks get to end
SHORT_ROUND_S = 0.004  # a shorter round of the event loop has time for one more turn; a webhook takes about 8 ms
DECAY = 0.8  # factor of the longest round for each round after it
MAX_ROUNDS = 5  # of that length without a new turn; then one begins anyway, so that webhooks cannot starve turns


class DocketJobs:
    """Sends hints through Docket (``bot.conversation.intake.Jobs``), for a process without a worker.

    Any worker on the same Redis may take a hint. Sending a hint costs more than storing the message, so hints are sent
    in the background, one after another, and those beyond ``MAX_HINTS`` are dropped: the sweep finds their
    conversations.
    """

    def __init__(self, docket: Docket) -> None:
        self._docket = docket
        self._hints: dict[str, str] = {}  # keys of jobs by conversation, in order
        self._sending: asyncio.Task[None] | None = None

    async def add(self, conversation: str, key: str) -> None:
        if len(self._hints) < MAX_HINTS:
            self._hints[conversation] = key
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def aclose(self) -> None:
        """Send the remaining hints within the time limit of one."""
        if self._sending is not None:
            await asyncio.wait({self._sending}, timeout=HINT_TIMEOUT_S)
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self) -> None:
        while self._hints:
            conversation = next(iter(self._hints))
            key = self._hints.pop(conversation)
            try:
                async with asyncio.timeout(HINT_TIMEOUT_S):
                    await self._docket.add("turn", key=key)(conversation)
            except (*STORE_FAILURES, TimeoutError) as error:
                log.warning("hint.lost", cause=type(error).__name__)


class FewConnections(RedisConnection):
    """Docket's Redis connection with a small pool: its own pool opens a connection for every concurrent request."""

    async def _connection_pool_from_url(self, *arguments: Any, **options: Any) -> Any:
        return limited_pool(await super()._connection_pool_from_url(*arguments, **options), CONNECTIONS)


@asynccontextmanager
async def open_docket(url: str) -> AsyncIterator[Docket]:
    """Docket on this Redis. Its one task is registered by name, so that a web process can add it."""
    docket = Docket(name=DOCKET, url=url, execution_ttl=timedelta(0))
    docket._redis = FewConnections(url)
    async with docket:
        docket.register(_no_worker_here, names=["turn"])
        yield docket


class PacedQueue:
    """A first-in, first-out queue of conversations that starts the next one while the event loop is fast.

    A turn costs CPU when it begins and when it ends, and nothing while it waits for a model. So the queue does not
    count turns but measures the rounds of the event loop, and starts one more conversation while rounds are short.

    Args:
        limit: conversations that run at the same time, at most.

    Attributes:
        empty: set while no conversation waits.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: dict[str, None] = {}  # in order, each once
        self._running: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()  # running conversations that are due again
        self._changed = asyncio.Event()
        self.empty = asyncio.Event()
        self.empty.set()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def running(self) -> Iterable[asyncio.Task[None]]:
        return self._running.values()

    def add(self, conversation: str) -> None:
        """Queue a conversation unless it waits already; a running one is queued again when it ends."""
        if conversation in self._running:
            self._again.add(conversation)
            return
        self._waiting[conversation] = None
        self.empty.clear()
        self._changed.set()

    async def run(self, process: Process) -> None:
        """Start conversations; never returns."""
        loop = asyncio.get_running_loop()
        longest, started_at, round_at = 0.0, 0.0, loop.time()
        while True:
            if not self._may_start:
                await self._wait_until_one_may_start()
                longest, round_at = 0.0, loop.time()
            if longest <= SHORT_ROUND_S or loop.time() - started_at >= longest * MAX_ROUNDS:
                started_at = loop.time()
                self._start(process)
            await asyncio.sleep(0)
            now = loop.time()
            longest, round_at = max(now - round_at, longest * DECAY), now

    @property
    def _may_start(self) -> bool:
        return bool(self._waiting) and len(self._running) < self._limit

    async def _wait_until_one_may_start(self) -> None:
        while not self._may_start:
            self._changed.clear()
            await self._changed.wait()

    def _start(self, process: Process) -> None:
        conversation = next(iter(self._waiting))
        del self._waiting[conversation]
        if not self._waiting:
            self.empty.set()
        task = asyncio.ensure_future(process(conversation))
        self._running[conversation] = task
        task.add_done_callback(partial(self._end, conversation))

    def _end(self, conversation: str, _task: asyncio.Future[None]) -> None:
        del self._running[conversation]
        self._changed.set()
        if conversation in self._again:  # a message came in during the release of the lease
            self._again.discard(conversation)
            self.add(conversation)


class Worker:
    """Processes the conversations of this process's intake (as its ``Jobs``), of hints and of the due index.

    A queued conversation is not leased: another worker may find it in the due index and process it first.

    Args:
        hurry: set at a second SIGTERM; then running turns get no more time.
        drain_s: seconds that running turns get at shutdown.
    """

    def __init__(self, docket: Docket, store: Store, hurry: asyncio.Event, drain_s: float = DRAIN_S) -> None:
        self._docket = docket
        self._store = store
        self._hurry = hurry
        self._drain_s = drain_s
        self._queue = PacedQueue(CONCURRENCY)
        self._services: tuple[asyncio.Task[None], ...] = ()

    async def add(self, conversation: str, key: str) -> None:
        """Queue a conversation."""
        self._queue.add(conversation)

    @property
    def alive(self) -> bool:
        """Whether all services of this worker run."""
        return bool(self._services) and not any(service.done() for service in self._services)

    async def wait_until_ended(self) -> None:
        """Wait until a service of this worker ends, which none should do by itself.

        Raises:
            Exception: why it has ended.
        """
        done, _ = await asyncio.wait(self._services, return_when=asyncio.FIRST_COMPLETED)
        for service in done:
            service.result()

    @asynccontextmanager
    async def run(self, process: Process, beside: Sequence[Service] = ()) -> AsyncIterator[None]:
        """Process conversations while the context is open. On exit, running turns get ``drain_s`` to end.

        Args:
            beside: services that run as long as the worker.
        """
        self._docket.register(self._hint, names=["turn"])
        async with DocketWorker(
            self._docket,
            concurrency=SLOTS,
            redelivery_timeout=REDELIVERY,
            reconnection_delay=RECONNECT,
            schedule_automatic_tasks=False,
        ) as worker:
            queue = self._queue.run(partial(_process, process))
            services = (_run_docket(worker), self._sweep(), queue, *(service() for service in beside))
            self._services = tuple(map(asyncio.create_task, services))
            try:
                yield
            finally:
                await self._drain()

    async def _hint(self, conversation: str) -> None:
        self._queue.add(conversation)

    async def _drain(self) -> None:
        """Wait for running turns, then cancel the rest. Docket may need two cancellations to end its clean-up."""
        for service in self._services:
            service.cancel()
        await self._wait_for_turns()
        turns = list(self._queue.running)
        for turn in turns:
            turn.cancel()
        await asyncio.wait((*turns, *self._services), timeout=CANCEL_S)
        late = [service for service in self._services if not service.done()]
        for service in late:
            service.cancel()
        if late:
            await asyncio.wait(late, timeout=CANCEL_S)

    async def _wait_for_turns(self) -> None:
        """Wait until running turns have ended, ``drain_s`` is over, or a second SIGTERM."""
        over = asyncio.create_task(self._hurry.wait())
        turns = asyncio.gather(*self._queue.running, return_exceptions=True)
        await asyncio.wait((over, turns), timeout=self._drain_s, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()

    async def _sweep(self) -> None:
        """Queue due conversations once a second; sooner if the last sweep was full and the queue is empty."""
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
    """Processes one conversation only (``bot.conversation.intake.Jobs``), for ``kaiwa chat``."""

    def __init__(self, conversation: str) -> None:
        self._conversation = conversation
        self._wake = asyncio.Event()

    async def add(self, conversation: str, key: str) -> None:
        if conversation == self._conversation:
            self._wake.set()

    def run(self, process: Process) -> AbstractAsyncContextManager[None]:
        """Process the conversation while the context is open."""
        return run_beside(self._run(process))

    async def _run(self, process: Process) -> None:
        while True:
            self._wake.clear()
            await _process(process, self._conversation)
            with suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_S * 5):
                    await self._wake.wait()


async def _process(process: Process, conversation: str) -> None:
    try:
        await process(conversation)
    except StoreUnavailable as error:
        log.warning("store.away", cause=str(error))


async def _run_docket(worker: DocketWorker) -> None:
    """Run Docket's worker, and restart it after an outage: it ends where no node of a cluster answers."""
    while True:
        try:
            return await worker.run_forever()
        except* STORE_FAILURES:
            log.warning("hint.paused")
        await asyncio.sleep(RECONNECT.total_seconds())


async def _no_worker_here(conversation: str) -> None:
    """The task in processes that only add it."""
    raise NotImplementedError
