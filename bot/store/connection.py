"""Connections to Redis: clients, pools, timeouts, and the one place where Redis' failures become ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from redis.asyncio import BlockingConnectionPool, ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import MovedError, RedisClusterException, RedisError

from bot.errors import SettingsError, StoreUnavailable
from bot.store.clients import ANSWER_S, Client, Cluster, Server

STORE_FAILURES = (RedisError, RedisClusterException, OSError)

CONNECT_S = 2.0
NODE_S = 1.0  # for one node of a cluster: there has to be time left to ask another where things are now

CLUSTER_SCHEMES = ("redis+cluster://", "rediss+cluster://")  # Docket's names for them


def connect(url: str, max_connections: int) -> Client:
    """A client that connects when it is first used.

    It never repeats a request: a script whose answer got lost may have run.

    Args:
        max_connections: to the server, or to each node of a cluster.

    Raises:
        SettingsError: the URL cannot be read.
    """
    try:
        return _cluster(url, max_connections) if url.startswith(CLUSTER_SCHEMES) else _server(url, max_connections)
    except (TypeError, ValueError, RedisClusterException):  # its text may hold a piece of the password
        fix = "cannot be read; write redis://:password@host:port, special characters of the password percent-encoded"
        raise SettingsError("REDIS_URL", fix) from None


def limited_pool(pool: ConnectionPool, max_connections: int) -> ConnectionPool:
    """A pool of the same connections that has no more than so many, and lets requests wait for one without limit."""
    kwargs = pool.connection_kwargs
    return BlockingConnectionPool(max_connections, None, connection_class=pool.connection_class, **kwargs)


def _server(url: str, max_connections: int) -> Server:
    pool = ConnectionPool.from_url(
        url,
        max_connections=max_connections,
        # Batches have a limit. redis-py would use wait_for, which may swallow a cancellation before
        # Python 3.12: https://github.com/python/cpython/issues/86296
        socket_timeout=None,
        socket_connect_timeout=CONNECT_S,
        **_options(),
    )
    return cast(Server, Server.from_pool(pool))


def _cluster(url: str, max_connections: int) -> Cluster:
    client = Cluster.from_url(
        url.replace("+cluster", "", 1),
        max_connections=max_connections,
        # A client that is only cancelled does not learn that a node is lost: it looks for another after its own limit.
        socket_timeout=NODE_S,
        socket_connect_timeout=NODE_S,
        reinitialize_steps=0,  # looking for all nodes anew after a move would cut every request under way
        **_options(),
    )
    return cast(Cluster, client)


def _options() -> dict[str, Any]:
    return {
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,  # nothing here needs the newer one, which costs a round trip more; the URL may still ask for it
    }


@asynccontextmanager
async def translate_errors(timeout_s: float | None = None) -> AsyncIterator[None]:
    """Wraps every request: Redis' failures become ``StoreUnavailable``.

    Args:
        timeout_s: for all that is done inside, waiting for others included. Without it a client's own limit
            holds: ``ANSWER_S`` for a request from when it is sent, whatever the store had to do for others before.

    Raises:
        StoreUnavailable: Redis is away, frozen, full or unwilling. The request may have been carried out or not.
    """
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        raise StoreUnavailable(f"no answer within {timeout_s or ANSWER_S:g} s") from error
    except MovedError as error:
        raise StoreUnavailable("this Redis is a node of a cluster: REDIS_URL has to begin redis+cluster://") from error
    except STORE_FAILURES as error:
        raise StoreUnavailable(f"{type(error).__name__}: {error}") from error
