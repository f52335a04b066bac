"""Workers process conversations: those that their process accepts, and those of the due index."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any

import structlog

from bot.errors import StoreUnavailable
from bot.pipeline.feature import Feature, Work
from bot.pipeline.services import Features
from bot.store import Store
from bot.tasks import run_beside

log = structlog.stdlib.get_logger(__name__)

# Of a conversation, and whose message it waits with, if known.
Process = Callable[[str, str], Coroutine[Any, Any, None]]
Service = Callable[[], Coroutine[Any, Any, None]]

CONCURRENCY = 2000  # conversations at once in one process
SWEEP_S = 1.0
# where others accept the messages, or share the port: people wait for the sweep
SHORT_SWEEP_S = 0.1
SWEEP_LIMIT = 100  # conversations of one sweep at most
DRAIN_S = 22.0  # that running turns get at shutdown
CANCEL_S = 1.5  # that cancelled tasks get to end
# a shorter round of the event loop has time for one more turn; a webhook takes about 8 ms
SHORT_ROUND_S = 0.004
DECAY = 0.8  # factor of the longest round for each round after it
# of that length without a new turn; then one begins anyway, so that webhooks cannot starve turns
MAX_ROUNDS = 5


class PacedQueue:
    """A first-in, first-out queue of conversations that starts the next one while the event loop is
    fast.

    A turn costs CPU when it begins and when it ends, and nothing while it waits for a model. So the
    queue does not count turns but measures the rounds of the event loop, and starts one more
    conversation while rounds are short.

    Args:
        limit: conversations that run at the same time, at most.

    Attributes:
        waiting: authors by conversation, in order, each once.
        running: what has started.
        empty: set while no conversation waits.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.waiting: dict[str, str] = {}
        self.running: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()  # running conversations that are due again
        self._changed = asyncio.Event()
        self.empty = asyncio.Event()
        self.empty.set()

    def add(self, conversation: str, author: str = "") -> None:
        """Queue a conversation unless it waits already; a running one is queued again when it
        ends."""
        if conversation in self.running:
            self._again.add(conversation)
            return
        self.waiting[conversation] = author
        self.empty.clear()
        self._changed.set()

    async def run(self, process: Process) -> None:
        """Start conversations; never returns."""
        loop = asyncio.get_running_loop()
        longest, started_at, round_at = 0.0, 0.0, loop.time()
        while True:
            while not self.waiting or len(self.running) >= self._limit:
                self._changed.clear()
                await self._changed.wait()
                longest, round_at = 0.0, loop.time()
            if longest <= SHORT_ROUND_S or loop.time() - started_at >= longest * MAX_ROUNDS:
                started_at = loop.time()
                conversation = next(iter(self.waiting))
                author = self.waiting.pop(conversation)
                if not self.waiting:
                    self.empty.set()
                task = asyncio.create_task(process(conversation, author))
                self.running[conversation] = task
                task.add_done_callback(partial(self._end, conversation))
            await asyncio.sleep(0)
            now = loop.time()
            longest, round_at = max(now - round_at, longest * DECAY), now

    def _end(self, conversation: str, task: asyncio.Task[None]) -> None:
        del self.running[conversation]
        self._changed.set()
        if conversation in self._again:  # a message came in during the release of the lease
            self._again.discard(conversation)
            self.add(conversation)
        with suppress(asyncio.CancelledError):
            try:
                task.result()
            except StoreUnavailable as error:
                log.warning("store.away", cause=str(error))


class Worker:
    """Processes the conversations that this process accepts, and those of the due index.

    A queued conversation is not leased: another worker may find it in the due index and process it
    first.

    Args:
        hurry: set at a second SIGTERM; then running turns get no more time.
        sweep_s: seconds between two readings of the due index.
        drain_s: seconds that running turns get at shutdown.
    """

    def __init__(
        self, store: Store, hurry: asyncio.Event, sweep_s: float = SWEEP_S, drain_s: float = DRAIN_S
    ) -> None:
        self._store = store
        self._hurry = hurry
        self._sweep_s = sweep_s
        self._drain_s = drain_s
        self._queue = PacedQueue(CONCURRENCY)
        self.add = self._queue.add
        self._services: tuple[asyncio.Task[None], ...] = ()

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
        """Process conversations while the context is open. On exit, running turns get ``drain_s``
        to end.

        Args:
            beside: services that run as long as the worker.
        """
        queue = self._queue.run(process)
        self._services = tuple(
            map(asyncio.create_task, (self._sweep(), queue, *(service() for service in beside)))
        )
        try:
            yield
        finally:
            await self._drain()

    async def _drain(self) -> None:
        """Wait for running turns, then cancel the rest."""
        for service in self._services:
            service.cancel()
        await self._wait_for_turns()
        turns = list(self._queue.running.values())
        for turn in turns:
            turn.cancel()
        await asyncio.wait((*turns, *self._services), timeout=CANCEL_S)

    async def _wait_for_turns(self) -> None:
        """Wait until running turns have ended, ``drain_s`` is over, or a second SIGTERM."""
        over = asyncio.create_task(self._hurry.wait())
        turns = asyncio.gather(*self._queue.running.values(), return_exceptions=True)
        await asyncio.wait(
            (over, turns), timeout=self._drain_s, return_when=asyncio.FIRST_COMPLETED
        )
        over.cancel()

    async def _sweep(self) -> None:
        """Queue due conversations periodically; sooner if the last sweep was full and the queue is
        empty."""
        pause_s, was_full = self._sweep_s, False
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await (self._queue.empty.wait() if was_full else asyncio.Event().wait())
            if len(self._queue.waiting) >= SWEEP_LIMIT:
                continue
            try:
                due, pause_s = await self._store.leases.due(SWEEP_LIMIT), self._sweep_s
            except StoreUnavailable as error:
                log.warning("sweep.failed", cause=str(error))
                due, pause_s = [], SWEEP_S
            was_full = len(due) == SWEEP_LIMIT
            for conversation in due:
                self._queue.add(conversation)


class ChatWorker:
    """Processes one conversation only, for ``kaiwa chat``."""

    def __init__(self, conversation: str) -> None:
        self._conversation = conversation
        self._wake = asyncio.Event()

    def add(self, conversation: str, author: str) -> None:
        """Process the conversation at once, if it is the one."""
        if conversation == self._conversation:
            self._wake.set()

    def run(self, process: Process) -> AbstractAsyncContextManager[None]:
        """Process the conversation while the context is open."""
        return run_beside(self._run(process))

    async def _run(self, process: Process) -> None:
        while True:
            self._wake.clear()
            try:
                await process(self._conversation, "")
            except StoreUnavailable as error:
                log.warning("store.away", cause=str(error))
            with suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_S * 5):
                    await self._wake.wait()


def beside_workers(
    features: Features, store: Store
) -> list[Callable[[], Coroutine[Any, Any, None]]]:
    """What runs beside the workers of a process: each ``run``, and all of ``every``."""
    services = features.hooks(Feature.run)[:]
    for name, seconds, work in features.every:
        services.append(partial(repeat, store, name, seconds, work))
    return services


async def repeat(store: Store, name: str, seconds: int, work: Work) -> None:
    """Try to do the work periodically; never returns."""
    while True:
        await do_if_due(store, name, seconds, work)
        await asyncio.sleep(seconds)


async def do_if_due(store: Store, name: str, seconds: int, work: Work) -> None:
    """Do the work, unless any process has begun it within these seconds.

    It ends with its period, so that no other process can begin it meanwhile. What fails is tried
    again in the next period.
    """
    try:
        if await store.kv.set_if_absent(f"every:{name}", seconds):
            async with asyncio.timeout(seconds):
                await work()
    except StoreUnavailable as error:
        log.warning("work.postponed", work=name, cause=str(error))
    except Exception:  # other work must go on
        log.exception("work.failed", work=name)
