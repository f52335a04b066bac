"""The key-value store: small, short-lived, shared."""

from __future__ import annotations

from redis.asyncio import Redis

from bot.store import Store


async def test_a_note_is_read_back_until_its_time_is_over(store: Store, redis: Redis) -> None:
    """Bytes in, bytes out, with the lifetime it was given."""
    assert await store.kv.get("name:u1") is None
    await store.kv.set("name:u1", "花子".encode(), 60)
    assert await store.kv.get("name:u1") == "花子".encode()
    (key,) = [key async for key in redis.scan_iter("*note:name:*")]
    assert 0 < await redis.ttl(key) <= 60
    await store.kv.delete("name:u1")
    assert await store.kv.get("name:u1") is None


async def test_counting_begins_at_one_and_renews_the_lifetime(store: Store, redis: Redis) -> None:
    """Each count keeps the note alive for its whole time again."""
    assert [await store.kv.incr("bad", 60) for _ in range(3)] == [1, 2, 3]
    (key,) = [key async for key in redis.scan_iter("*note:bad:*")]
    await redis.expire(key, 5)
    assert await store.kv.incr("bad", 60) == 4
    assert await redis.ttl(key) > 5
    await redis.expire(key, 5)
    assert await store.kv.get("bad") == b"4"
    store.kv.add_later("bad", -3, 60)
    assert await store.kv.get("bad") == b"1"
    assert await redis.ttl(key) > 5
