"""Real stores for tests: the bundled Valkey, and ``redis-server`` where it is installed."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from redis import Redis as BlockingRedis
from redis.asyncio import Redis, RedisCluster
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from bot.store import Store, open_store
from bot.store.embedded import open_embedded
from bot.store.keys import LASTING_KINDS
from tests.cluster import Cluster, running


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Valkey for all tests, started as Kaiwa starts it."""
    with asyncio.Runner() as runner:
        valkey = open_embedded(tmp_path_factory.mktemp("valkey"))
        yield runner.run(valkey.__aenter__())
        runner.run(valkey.__aexit__(None, None, None))


@contextmanager
def redis_server(*options: str) -> Iterator[str]:
    """A Redis of one's own, empty at first; where there is no ``redis-server``, the test is
    skipped."""
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip("redis-server is not installed")
    with TemporaryDirectory() as folder:
        socket = Path(folder) / "redis.sock"
        with subprocess.Popen(
            [binary, "--port", "0", "--unixsocket", socket, "--save", "", *options],
            cwd=folder,
            stdout=subprocess.DEVNULL,
        ) as server:
            patience = Retry(ConstantBackoff(0.02), 500)
            with BlockingRedis(unix_socket_path=str(socket), retry=patience) as redis:
                redis.ping()
            try:
                yield f"unix://{socket}"
            finally:
                server.terminate()


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis for all tests."""
    with redis_server() as url:
        yield url


@pytest.fixture(scope="session")
def three_nodes() -> Iterator[Cluster]:
    """A cluster for all tests."""
    with running(3) as cluster:
        yield cluster


@pytest.fixture
def cluster(three_nodes: Cluster) -> Cluster:
    """The cluster, empty."""
    three_nodes.agree()
    three_nodes.flush()
    return three_nodes


@pytest.fixture
def store_url(valkey_url: str) -> str:
    """Where ``store`` is."""
    return valkey_url


@pytest.fixture
async def redis(store_url: str) -> AsyncIterator[Redis]:
    """A look behind the store, which begins empty."""
    async with Redis.from_url(store_url, driver_info=None) as redis:
        await redis.flushall()
        yield redis


@pytest.fixture
async def store(store_url: str, redis: Redis) -> AsyncIterator[Store]:
    """An empty store. What a test leaves in it must go away by itself one day."""
    async with open_store(store_url, history_days=30) as store:
        yield store
    assert await endless_keys(redis) == []


async def endless_keys(redis: Redis | RedisCluster) -> list[str]:
    """The keys that would live for ever, but for those that should (``LASTING_KINDS``)."""
    every = [name.decode() async for name in redis.scan_iter()]
    lasting = tuple(f"}}:{kind}" for kind in LASTING_KINDS)
    names = [name for name in every if not any(kind in name for kind in lasting)]
    pipeline = redis.pipeline(transaction=False)
    for name in names:
        pipeline.ttl(name)
    lives = await pipeline.execute()
    return [name for name, life in zip(names, lives, strict=True) if life == -1]
