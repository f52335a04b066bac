"""What was first seen of a server's tools is kept for good."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis, RedisCluster

from bot.store import Store
from bot.store.keys import PINS, pins_key


async def test_the_first_sight_counts(store: Store, redis: Redis | RedisCluster) -> None:
    """Later digests do not replace it; the key never expires."""
    pins = store.tool_pins
    assert await pins.pin("srv", {"a": "1"}) == {"a": "1"}
    assert await pins.pin("srv", {"a": "2", "b": "3"}) == {"a": "1", "b": "3"}
    assert await pins.read("srv") == {"a": "1", "b": "3"}
    assert await pins.pin("other", {"a": "4"}) == {"a": "4"}
    assert await pins.pin("srv", {}) == {}
    assert await redis.ttl(pins_key("srv")) == -1


async def test_accepting_replaces_all(store: Store) -> None:
    """What the server no longer has is forgotten."""
    pins = store.tool_pins
    await pins.pin("srv", {"a": "1", "b": "2"})
    await pins.accept("srv", {"a": "3"})
    assert await pins.read("srv") == {"a": "3"}
    await pins.accept("srv", {})
    assert await pins.read("srv") == {}


async def test_there_is_a_limit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that thinks up new names does not fill the store; tools beyond the limit have no
    pin."""
    assert PINS == 1_000
    monkeypatch.setattr("bot.store.kv.PINS", 2)
    assert await store.tool_pins.pin("srv", {"a": "1", "b": "2", "c": "3"}) == {
        "a": "1",
        "b": "2",
        "c": "",
    }
    assert await store.tool_pins.pin("srv", {"d": "4", "b": "5"}) == {"d": "", "b": "2"}
