"""Leases: one holder at a time, a greater token each time, and lost ones are noticed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from redis.asyncio import Redis

from bot.errors import LeaseLost
from bot.store import Lease, Store, open_store
from tests.bot.store.turns import begun, key, leased

HERE = "console:alice"

FENCED: dict[str, Callable[[Store, Lease], Awaitable[object]]] = {
    "renew": lambda store, lease: store.leases.renew(lease),
    "release": lambda store, lease: store.leases.release(lease),
    "erase": lambda store, lease: store.history.erase(lease, whole=True),
    "withdraw": lambda store, lease: store.journal.withdraw(lease, [b"first reply"]),
    "begin": lambda store, lease: store.journal.begin(lease, "turn-9"),
    "join": lambda store, lease: join_what_waits(store, lease),
    "give_back": lambda store, lease: store.journal.give_back(lease, 1),
    "record": lambda store, lease: store.journal.record(lease, "said", b"late"),
    "commit": lambda store, lease: store.journal.commit(lease, b"late", [b"late"], keep_turns=1),
    "replace_head": lambda store, lease: store.outbox.replace_head(lease, b"late"),
    "remove_head": lambda store, lease: store.outbox.remove_head(lease),
    "move_head_to_dead_letters": lambda store, lease: store.outbox.move_head_to_dead_letters(
        lease, b"late"
    ),
}


async def join_what_waits(store: Store, lease: Lease) -> None:
    await store.journal.join(lease, [entry.frame for entry in await store.inbox.read(HERE)])


async def everything(redis: Redis) -> dict[bytes, bytes | None]:
    """Every key with its value, as the server would write it to disk."""
    return {name: await redis.dump(name) async for name in redis.scan_iter()}


async def busy(store: Store) -> Lease:
    """A conversation with something in every place, and its lease."""
    lease = await begun(store, HERE)
    await store.journal.commit(lease, b"turn one", [b"first reply", b"second reply"], keep_turns=9)
    await store.inbox.accept(HERE, "m2", b"two")
    await store.journal.begin(lease, "turn-2")
    await store.inbox.accept(HERE, "m3", b"three")
    return lease


async def test_only_one_gets_the_lease(store: Store, store_url: str) -> None:
    """Two processes race for a conversation, again and again."""
    async with open_store(store_url, history_days=30) as other:
        for round_ in range(20):
            here = f"console:{round_}"
            taken = await asyncio.gather(*(one.leases.acquire(here) for one in (store, other) * 5))
            (lease,) = [lease for lease in taken if lease]
            assert lease == Lease(here, 6_000, lease.token)


async def test_no_token_comes_twice(store: Store, redis: Redis) -> None:
    """Whatever the clock does; a lease that was lost is not the one that follows."""
    first = await leased(store, HERE)
    await redis.delete(key("lease", HERE))
    second = await leased(store, HERE)
    assert first.token != second.token
    with pytest.raises(LeaseLost):
        await store.leases.renew(first)
    await store.leases.renew(second)


@pytest.mark.parametrize("operation", FENCED)
async def test_without_the_lease_nothing_is_changed(
    store: Store, redis: Redis, operation: str
) -> None:
    """Every fenced script tells a former holder, whether the lease is free or taken by another, and
    changes nothing."""
    lost = await busy(store)
    await redis.delete(key("lease", HERE))
    before = await everything(redis)
    with pytest.raises(LeaseLost, match=HERE):
        await FENCED[operation](store, lost)
    assert await everything(redis) == before

    await leased(store, HERE, ttl_ms=60_000)
    before = await everything(redis)
    with pytest.raises(LeaseLost, match=HERE):
        await FENCED[operation](store, lost)
    assert await everything(redis) == before


@pytest.mark.parametrize("operation", FENCED)
async def test_with_the_lease_something_is_changed(
    store: Store, redis: Redis, operation: str
) -> None:
    """The counterpart: the same operations, on the same state, work for the holder."""
    lease = await busy(store)
    await redis.zadd(key("due", HERE), {HERE: 1})
    before = await everything(redis)
    await FENCED[operation](store, lease)
    assert await everything(redis) != before
