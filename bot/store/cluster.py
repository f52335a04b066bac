"""A client of a cluster: redis-py's, with a queue for its connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import RedisCluster
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import NoScriptError

from bot.store.server import ANSWER_S, Command, by_hash


class Slots:
    """A limited number of requests at once; the others are queued, first come, first served.

    The time in the queue does not count. But when the store does not answer one request, all queued
    ones fail with it.
    """

    def __init__(self, slots: int, answer_s: float) -> None:
        self._free = asyncio.Semaphore(slots)
        self._answer_s = answer_s
        self._queued: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot, and hold it while the context is open, at most ``answer_s``.

        Raises:
            TimeoutError: the store did not answer in time, this request or one it was queued
                behind.
        """
        async with asyncio.timeout(None) as queued:
            self._queued.add(queued)
            try:
                await self._free.acquire()
            finally:
                self._queued.discard(queued)
        try:
            async with asyncio.timeout(self._answer_s):
                yield
        except TimeoutError:
            while self._queued:
                self._queued.pop().reschedule(asyncio.get_running_loop().time())
            raise
        finally:
            self._free.release()


class Cluster(RedisCluster):
    """All primaries of a cluster.

    redis-py finds the node of a key, follows a key that moves, and looks the nodes up anew after an
    error. With all connections in use it would fail; this class queues.

    Args:
        max_connections: to each node.
    """

    def __init__(self, *, max_connections: int, **options: Any) -> None:
        super().__init__(max_connections=max_connections, **options)
        self._slots = Slots(max_connections, ANSWER_S)

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        async with self._slots.slot():
            return await self._execute(*args, **kwargs)

    async def aclose(self) -> None:
        await super().aclose()  # does nothing between an error and the next request
        for nodes in ("nodes_cache", "startup_nodes"):
            await self.nodes_manager.aclose(nodes)

    def submit(self, commands: Iterable[Command]) -> asyncio.Future[list[Any]]:
        """Send commands of one key each; their results. Nodes share no batches."""
        return asyncio.ensure_future(self._execute_each(list(commands)))

    def submit_later(self, commands: Iterable[Command]) -> asyncio.Future[list[Any]]:
        """Send commands whose results nobody has to wait for."""
        sending = self.submit(commands)
        sending.add_done_callback(_ignore_failure)
        return sending

    def before_next(self, call: Callable[[], None]) -> None:
        """Call this before the next request leaves."""
        asyncio.get_running_loop().call_soon(call)

    async def info_of_each(self) -> list[dict[str, Any]]:
        """INFO of each primary."""
        _ = await self.initialize()
        return [await self.info(target_nodes=node) for node in self.get_primaries()]

    async def new_connection(self) -> AbstractConnection:
        """A connection outside the pools, to any primary: the caller opens and closes it."""
        _ = await self.initialize()
        node = self.get_random_primary_node()
        return node.connection_class(**node.connection_kwargs)

    async def _execute_each(self, commands: list[Command]) -> list[Any]:
        """One after the other: a pipeline would not look for lost nodes."""
        async with self._slots.slot():
            return [await self._execute(*command) for command in commands]

    async def _execute(self, *command: Any, **options: Any) -> Any:
        try:
            return await super().execute_command(*by_hash(command), **options)
        except NoScriptError:
            return await super().execute_command(*command, **options)


def _ignore_failure(done: asyncio.Future[list[Any]]) -> None:
    """Take the exception, so that asyncio does not report it."""
    if not done.cancelled():
        _ = done.exception()
