"""The keys of Docket, which earlier versions used, go when their last worker has gone."""

from __future__ import annotations

import time
from datetime import timedelta

from docket import Docket, Worker
from redis.asyncio import Redis, RedisCluster

from bot.store import Store, open_store
from bot.store.docket_keys import SILENT_S
from tests.cluster import Cluster


async def answer(conversation: str) -> None:
    """The task of earlier versions."""


async def stay_while_used(store: Store, url: str, redis: Redis | RedisCluster, prefix: str) -> None:
    """Leave Docket's keys as earlier versions do; they stay while a worker lives, and go after
    it."""

    async def is_alive() -> bool:
        return bool(await redis.exists(f"{prefix}:workers"))

    async with Docket(name="kaiwa", url=url, execution_ttl=timedelta(0)) as docket:
        docket.register(answer, names=["turn"])
        async with Worker(docket, schedule_automatic_tasks=False) as worker:
            await docket.add("turn", key="known")("console:a")
            await worker.run_until_finished()
            await redis.zadd(f"{prefix}:workers", {"alive": time.time()})
            assert await is_alive()
            assert await store.docket_keys.delete() == 0
        await docket.add("turn", key="unread")("console:a")
    assert await redis.exists(f"{prefix}:stream", f"{prefix}:runs:unread") == 2
    await redis.zadd(
        f"{prefix}:workers", {"alive": time.time() - SILENT_S - 1}
    )  # as a killed one leaves it
    assert await store.docket_keys.delete() >= 3
    assert await store.docket_keys.delete() == 0


async def test_on_one_server(store: Store, store_url: str, redis: Redis) -> None:
    """Nothing else goes."""
    others = {b"kaiwa:{00}:note:x", b"kaiwa:somebody:else"}
    for name in others:
        await redis.set(name, "", ex=60)
    await stay_while_used(store, store_url.partition("?")[0], redis, "kaiwa")
    assert {key async for key in redis.scan_iter()} == others


async def test_on_a_cluster(cluster: Cluster) -> None:
    """There Docket's prefix is another one."""
    url = cluster.url.replace("+cluster", "")
    async with (
        open_store(cluster.url, history_days=30) as store,
        RedisCluster.from_url(url) as redis,
    ):
        await stay_while_used(store, cluster.url, redis, "{kaiwa}")
        assert [key async for key in redis.scan_iter()] == []
