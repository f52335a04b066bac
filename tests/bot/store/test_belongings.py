"""The index of what belongs to somebody: each entry for as long as what it names."""

from __future__ import annotations

import time

from redis.asyncio import Redis

from bot.clock import DAY_S
from bot.store import Store
from bot.store.keys import digest_of, index_key

OWNER = "line:u1"
KEY = index_key(digest_of(OWNER))


async def test_entries_are_read_in_order_each_once(store: Store, redis: Redis) -> None:
    """Whoever goes through them does so alike every time; the key names nobody."""
    for entry in ("own b", "own a", "own b"):
        await store.belongings.add(OWNER, entry, 60)
    assert await store.belongings.read(OWNER) == ["own a", "own b"]
    assert await store.belongings.read("line:nobody") == []
    assert [name for name in await redis.keys() if b"u1" in name] == []


async def test_what_can_wait_goes_with_the_next_request(store: Store) -> None:
    """And is then known."""
    adding = store.belongings.add_later(OWNER, ["own a", "own b"], 60)
    await store.ping()
    await store.belongings.add("line:u2", "own c", 60)
    await adding
    assert await store.belongings.read(OWNER) == ["own a", "own b"]


async def test_an_entry_lives_as_long_as_its_longest_time(store: Store, redis: Redis) -> None:
    """A shorter time takes nothing away, and the key outlives all entries by a few days."""
    await store.belongings.add(OWNER, "facts a", 365 * DAY_S)
    await store.belongings.add(OWNER, "own b", 30 * DAY_S)
    await store.belongings.add(OWNER, "facts a", DAY_S)
    assert 365 * DAY_S < await redis.ttl(KEY) <= 368 * DAY_S
    today = int(time.time()) // DAY_S
    last = [await redis.zscore(KEY, entry) or 0 for entry in ("facts a", "own b")]
    assert [day - today for day in last] == [366, 31]


async def test_an_entry_whose_time_is_over_goes_with_the_next_one(
    store: Store, redis: Redis
) -> None:
    """An active person's index does not grow with everything they ever did."""
    await store.belongings.add(OWNER, "own old", 60)
    await redis.zadd(KEY, {"own old": int(time.time()) // DAY_S - 2})
    await store.belongings.add(OWNER, "own new", 60)
    assert await store.belongings.read(OWNER) == ["own new"]


async def test_the_same_entry_again_writes_nothing(store: Store, redis: Redis) -> None:
    """Every turn adds it; a day's first one alone costs a write."""
    await store.belongings.add(OWNER, "own a", 60)
    await redis.expire(KEY, 100_000)
    before = (await redis.info("persistence"))["rdb_changes_since_last_save"]
    await store.belongings.add(OWNER, "own a", 60)
    assert (await redis.info("persistence"))["rdb_changes_since_last_save"] == before


async def test_what_is_removed_leaves_what_came_meanwhile(store: Store) -> None:
    """Removing nothing asks nothing."""
    for entry in ("own a", "own b"):
        await store.belongings.add(OWNER, entry, 60)
    await store.belongings.remove(OWNER, ["own a", "own gone"])
    await store.belongings.remove(OWNER, [])
    assert await store.belongings.read(OWNER) == ["own b"]


async def test_an_index_is_written_in_a_full_store(store: Store, redis: Redis) -> None:
    """A turn under way is finished there, and must be found."""
    await redis.config_set("maxmemory", "1mb")
    try:
        await store.belongings.add(OWNER, "own a", 60)
        assert await store.belongings.read(OWNER) == ["own a"]
    finally:
        await redis.config_set("maxmemory", "0")
