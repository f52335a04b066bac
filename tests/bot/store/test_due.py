"""The due index: a conversation is in it for as long as there is something to do, and at the right
time."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bot.store import Store
from bot.store.keys import INDEX_S
from tests.bot.store.turns import begun, key, leased, sending

HERE = "console:alice"


async def due_in(store: Store, redis: Redis) -> float | None:
    """Milliseconds until the conversation is due; None where it never is."""
    at = await redis.zscore(key("due", HERE), HERE)
    return None if at is None else at - await store.now_ms()


async def test_a_release_may_name_the_time_to_come_back(store: Store, redis: Redis) -> None:
    """Back-off of a delivery, or the deadline of a parked turn."""
    lease = await begun(store, HERE)
    await store.leases.release(lease, await store.now_ms() + 60_000)
    assert await due_in(store, redis) == pytest.approx(60_000, abs=1_000)
    assert await store.leases.due(10) == []


async def test_a_new_message_does_not_wait_for_that_time(store: Store) -> None:
    """Whether it comes before or after the release: a delivery's back-off is not its own."""
    lease = await sending(store, HERE, b"reply")
    await store.inbox.accept(HERE, "m1", b"one")
    assert await store.leases.release(lease, await store.now_ms() + 60_000)
    assert await store.leases.due(10) == [HERE]

    lease = await leased(store, HERE)
    await store.journal.begin(lease, "turn-1")
    await store.journal.commit(lease, None, [], keep_turns=1)
    assert not await store.leases.release(lease, await store.now_ms() + 60_000)
    assert await store.leases.due(10) == []
    await store.inbox.accept(HERE, "m2", b"two")
    assert await store.leases.due(10) == [HERE]


async def test_a_new_message_waits_for_the_turn_before_it(store: Store) -> None:
    """A turn that rests is gone on with first: what is known to wait needs nobody sooner, what is
    not known does."""
    lease = await begun(store, HERE)
    await store.inbox.accept(HERE, "m2", b"two")
    assert not await store.leases.release(lease, await store.now_ms() + 60_000, known=1)
    assert await store.leases.due(10) == []

    lease = await leased(store, HERE)
    await store.inbox.accept(HERE, "m3", b"three")
    assert await store.leases.release(lease, await store.now_ms() + 60_000, known=1)
    assert await store.leases.due(10) == [HERE]


async def test_a_new_delivery_does_not_wait_for_that_time(store: Store) -> None:
    """Unless the outbox held others, behind which it waits."""
    await store.inbox.accept(HERE, "m1", b"one")
    for number, waits in enumerate((False, True)):
        lease = await leased(store, HERE)
        await store.journal.begin(lease, "turn-1")
        assert await store.outbox.post(HERE, f"d{number}", b"delivery")
        later = await store.now_ms() + 60_000
        assert await store.leases.release(lease, later, is_delivered=not waits) is not waits
        assert await store.leases.due(10) == ([] if waits else [HERE])


async def test_those_who_wait_longest_come_first(store: Store, redis: Redis) -> None:
    """Over all shards, and no more than asked for."""
    waiting = [f"console:{number}" for number in range(40)]
    for conversation in waiting:
        await store.inbox.accept(conversation, "m1", b"hello")
    for age, conversation in enumerate(reversed(waiting), start=1):
        await redis.zadd(key("due", conversation), {conversation: age})
    assert await store.leases.due(100) == waiting[::-1]
    assert await store.leases.due(7) == waiting[:-8:-1]
    assert (await store.depths()).due == 40


async def test_how_long_the_oldest_waits_is_measured(store: Store, redis: Redis) -> None:
    """Whichever shard it is of; what somebody works on does not wait, and neither does the
    future."""
    await store.clock.read()
    assert await store.oldest_due_s() == 0
    now = await store.now_ms()
    for number in range(3):
        await store.inbox.accept(f"console:{number}", "m1", b"hello")
        due_at = now - 90_000 * number
        await redis.zadd(key("due", f"console:{number}"), {f"console:{number}": due_at})
    assert 180 <= await store.oldest_due_s() < 270
    await leased(store, "console:2")
    assert 90 <= await store.oldest_due_s() < 180
    await leased(store, "console:1")
    await redis.zadd(key("due", "console:0"), {"console:0": now + 90_000})
    assert await store.oldest_due_s() == 0


async def test_the_index_outlives_what_it_points_to(store: Store, redis: Redis) -> None:
    """Every change renews its time."""
    await store.inbox.accept(HERE, "m1", b"one")
    assert await redis.ttl(key("due", HERE)) == INDEX_S
