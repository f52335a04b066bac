"""How Redis is reached: few connections, no patience, and one place where its failures become ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from bot.errors import SettingsError, StoreUnavailable

STORE_FAILURES = (RedisError, OSError)

ANSWER_S = 2.5  # for a whole request: waiting for a connection, connecting, being answered
CONNECT_S = 2.0


def connect(url: str, max_connections: int) -> Redis:
    """A client that connects when it is first used.

    It never repeats a request: a script whose answer got lost may have run.

    Raises:
        SettingsError: the URL cannot be read.
    """
    try:
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=max_connections,
            timeout=ANSWER_S,
            # answering() is the limit. redis-py would use wait_for, which may swallow a cancellation before
            # Python 3.12: https://github.com/python/cpython/issues/86296
            socket_timeout=None,
            socket_connect_timeout=CONNECT_S,
            retry=Retry(NoBackoff(), 0),
            protocol=2,  # nothing here needs the newer one, which costs a round trip more; the URL may still ask for it
        )
    except (TypeError, ValueError):  # its text may hold a piece of the password
        mend = "cannot be read; write redis://:password@host:port, special characters of the password percent-encoded"
        raise SettingsError("REDIS_URL", mend) from None
    return Redis.from_pool(pool)


@asynccontextmanager
async def answering(timeout_s: float = ANSWER_S) -> AsyncIterator[None]:
    """Around every request.

    Raises:
        StoreUnavailable: Redis is away, frozen, full or unwilling. The request may have been carried out or not.
    """
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        raise StoreUnavailable(f"no answer within {timeout_s:g} s") from error
    except STORE_FAILURES as error:
        raise StoreUnavailable(f"{type(error).__name__}: {error}") from error
