"""Two kinds of Redis asked in the same way: one server, or a cluster of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.connection import AbstractConnection

Request = tuple[str | bytes | int, ...]


class Server(Redis):
    """One server."""

    async def ask_each(self, requests: Iterable[Request]) -> list[Any]:
        """The answers to requests of one key each, in one round trip."""
        async with self.pipeline(transaction=False) as pipe:
            for request in requests:
                _ = pipe.execute_command(*request)
            return await pipe.execute()

    async def every_info(self) -> list[dict[str, Any]]:
        """What each server says of itself."""
        return [await self.info()]

    async def own_connection(self) -> AbstractConnection:
        """A connection outside the pool: the caller opens and closes it."""
        pool = self.connection_pool
        return pool.connection_class(**pool.connection_kwargs)


class Cluster(RedisCluster):
    """All primaries of a cluster.

    redis-py finds the node that has a key, follows it when it moves, and asks for the nodes anew after an error. Where
    all connections are in use it would fail; this waits for one.

    Args:
        max_connections: to each node.
    """

    def __init__(self, *, max_connections: int, **options: Any) -> None:
        super().__init__(max_connections=max_connections, **options)
        self._places = asyncio.Semaphore(max_connections)

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        async with self._places:
            return await super().execute_command(*args, **kwargs)

    async def aclose(self) -> None:
        await super().aclose()  # does nothing between an error and the next request
        for nodes in ("nodes_cache", "startup_nodes"):
            await self.nodes_manager.aclose(nodes)

    async def ask_each(self, requests: Iterable[Request]) -> list[Any]:
        """The answers to requests of one key each, one after the other: a pipeline would not look for lost nodes."""
        ask = super().execute_command
        async with self._places:
            return [await ask(*request) for request in requests]

    async def every_info(self) -> list[dict[str, Any]]:
        """What each primary says of itself."""
        _ = await self.initialize()
        return [await self.info(target_nodes=node) for node in self.get_primaries()]

    async def own_connection(self) -> AbstractConnection:
        """A connection outside the pools, to any primary: the caller opens and closes it."""
        _ = await self.initialize()
        node = self.get_random_primary_node()
        return node.connection_class(**node.connection_kwargs)


Client = Server | Cluster
