"""The store as a whole: what it says of itself and of its server."""

from __future__ import annotations

import time

import pytest
from redis.asyncio import Redis

from bot.store import Depths, Store, open_store
from tests.bot.store.turns import sending
from tests.fixtures_store import endless_keys


async def test_the_clock_is_the_servers(store: Store, redis: Redis) -> None:
    """In milliseconds since the epoch."""
    seconds, _ = await redis.time()
    assert await store.now_ms() == pytest.approx(seconds * 1000, abs=2_000)
    assert await store.now_ms() == pytest.approx(time.time() * 1000, abs=2_000)


async def test_depths_count_over_all_shards(store: Store) -> None:
    """Conversations that need care now or later, and dead letters."""
    for number in range(40):
        here = f"console:{number}"
        await store.inbox.accept(here, "m1", b"hello")
        if number < 25:
            lease = await sending(store, here, b"reply")
            await store.outbox.move_head_to_dead_letters(lease, b"refused")
    assert await store.depths() == Depths(due=40, dead_letters=25)


async def test_facts_are_those_of_the_server(store: Store, redis: Redis) -> None:
    """Name, version, and how it treats what it is given."""
    info = await redis.info()
    facts = await store.facts()
    assert facts.server in (
        f"Valkey {info.get('valkey_version')}",
        f"Redis {info['redis_version']}",
    )
    assert facts.redis_version == 7
    assert facts.memory_policy == "noeviction"
    assert facts.append_only is ((await redis.config_get("appendonly"))["appendonly"] == "yes")


async def test_a_key_without_an_end_would_be_noticed(redis: Redis) -> None:
    """The check that follows every test on a store can fail."""
    for name in ("kaiwa:{00}:new:thing", "other"):
        await redis.set(name, "x")
    await redis.set("kaiwa:{00}:seen:m1", "", ex=60)
    assert sorted(await endless_keys(redis)) == ["kaiwa:{00}:new:thing", "other"]
    await redis.flushall()


async def test_what_a_server_pushes_is_no_reply(valkey_url: str) -> None:
    """With version 3 of the protocol, which the address may choose."""
    async with open_store(f"{valkey_url}?protocol=3", history_days=1) as store:
        ask = store.scripts.ask
        await ask("CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "pushed")
        await ask("SET", "pushed", "x", "EX", 60)
        assert await ask("GET", "pushed") == b"x"
        assert await ask("DEL", "pushed") == 1
        assert await ask("PING") is True
