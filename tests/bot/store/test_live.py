"""Live events: to everybody who watches, in order, over one connection, and never in a turn's
way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from redis.asyncio import Redis

from bot.errors import StoreUnavailable
from bot.store import Store, open_store
from bot.store.live import BACKLOG

HERE = "console:alice"
NOWHERE = "unix:///nowhere/valkey.sock"


async def received(events: AsyncIterator[bytes], count: int) -> list[bytes]:
    """The next events."""
    async with asyncio.timeout(5):
        taken = []
        async for event in events:
            taken.append(event)
            if len(taken) == count:
                break
        return taken


async def subscribers(redis: Redis) -> int:
    """How many connections listen."""
    return len([client for client in await redis.client_list() if int(client["sub"]) > 0])


async def test_events_arrive_from_the_moment_of_entering(store: Store) -> None:
    """In order, with every byte, and those of other conversations go elsewhere."""
    events = [b"one", b"\x00\xff", "三".encode()]
    async with store.live.subscribe(HERE) as here, store.live.subscribe("console:bob") as there:
        for event in events:
            await store.live.publish(HERE, event)
        await store.live.publish("console:bob", b"for bob")
        assert await received(here, 3) == events
        assert await received(there, 1) == [b"for bob"]


async def test_all_viewers_of_all_processes_see_an_event(store: Store, store_url: str) -> None:
    """One process publishes, two watch, one of them twice."""
    async with open_store(store_url, history_days=30) as other, AsyncExitStack() as stack:
        lives = [store.live, store.live, other.live]
        viewers = [await stack.enter_async_context(live.subscribe(HERE)) for live in lives]
        await store.live.publish(HERE, b"hello")
        assert [await received(viewer, 1) for viewer in viewers] == [[b"hello"]] * 3


@pytest.mark.long
async def test_many_viewers_share_one_connection(store: Store, redis: Redis) -> None:
    """A thousand open pages cost one connection, and the last to go takes its subscription
    along."""
    async with AsyncExitStack() as stack:
        viewers = [
            await stack.enter_async_context(store.live.subscribe(f"console:{n % 500}"))
            for n in range(1_000)
        ]
        assert await subscribers(redis) == 1
        await store.live.publish("console:7", b"hello")
        assert [await received(viewer, 1) for viewer in (viewers[7], viewers[507])] == [
            [b"hello"]
        ] * 2
    async with asyncio.timeout(5):
        while await redis.pubsub_channels():
            pass


@pytest.mark.long
async def test_a_viewer_who_does_not_look_misses_the_newest(store: Store) -> None:
    """Its backlog is bounded, and nobody else waits for it."""
    async with store.live.subscribe(HERE) as slow, store.live.subscribe(HERE) as quick:
        for tens in range(BACKLOG // 100 + 1):
            events = [b"%d %d" % (tens, number) for number in range(100)]
            await store.live.publish(HERE, *events)
            assert await received(quick, 100) == events
        await received(slow, BACKLOG)
        await store.live.publish(HERE, b"back again")
        assert await received(slow, 1) == [b"back again"]


@pytest.mark.long
async def test_a_cut_connection_is_subscribed_anew(store: Store, redis: Redis) -> None:
    """Viewers stay, and see what is published afterwards."""
    async with store.live.subscribe(HERE) as here, store.live.subscribe("console:bob") as there:
        await redis.client_kill_filter(_type="pubsub")
        async with asyncio.timeout(5):
            while len(await redis.pubsub_channels()) < 2:
                pass
        await store.live.publish(HERE, b"hello")
        await store.live.publish("console:bob", b"hello bob")
        assert await received(here, 1) == [b"hello"]
        assert await received(there, 1) == [b"hello bob"]


async def test_without_a_store_publishing_is_silent_and_quick() -> None:
    """A turn goes on, whether or not it can be watched."""
    async with open_store(NOWHERE, history_days=30) as store, asyncio.timeout(2):
        await store.live.publish(HERE, b"hello")


@pytest.mark.long
async def test_without_a_store_nobody_can_watch() -> None:
    """Entering says so; what would be shown there is nothing."""
    async with open_store(NOWHERE, history_days=30) as store, asyncio.timeout(10):
        with pytest.raises(StoreUnavailable):
            async with store.live.subscribe(HERE):
                pass  # pragma: no cover
