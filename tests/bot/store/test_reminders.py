"""Reminders in the store: found when they are due, moved once, and kept for as long as they can
still come."""

from __future__ import annotations

import asyncio

import pytest
from redis.asyncio import Redis

from bot.store import ASIDE, Alarm, Next, Store
from bot.store.keys import REMINDER_S, Keys, reminders_of_key
from tests.fixtures_store import endless_keys

HERE = "line:bot:user:u1"


async def due_now(store: Store, reminder_id: str = "r1", author: str = "u1") -> Alarm:
    """A reminder whose time has come."""
    at = await store.now_ms(HERE) - 1
    await store.reminders.add(HERE, reminder_id, author, at, b"body")
    return Alarm(at, HERE, reminder_id)


async def test_a_reminder_is_due_at_its_time_and_rings_once(store: Store, redis: Redis) -> None:
    """Ten processes at once: one entry in the inbox, the conversation is due, nothing is left."""
    alarm = await due_now(store)
    await store.reminders.add(HERE, "later", "u1", alarm.at + 3_600_000, b"later")
    assert await store.reminders.due(10) == [alarm]
    rung = await asyncio.gather(
        *(store.reminders.ring(alarm, "e1", b"event", None) for _ in range(10))
    )
    assert sorted(rung) == [False] * 9 + [True]
    assert [(entry.kind, entry.body) for entry in await store.inbox.read(HERE)] == [
        (ASIDE, b"event")
    ]
    assert await store.leases.due(10) == [HERE]
    assert await store.reminders.read(HERE) == {"later": b"later"}
    assert await store.reminders.due(10) == []
    assert await endless_keys(redis) == []


async def test_one_that_repeats_stays_with_its_next_time(store: Store, redis: Redis) -> None:
    """And its keys live until a week after that."""
    alarm = await due_now(store)
    then = Next(alarm.at + 90 * 86_400_000, b"again")
    assert await store.reminders.ring(alarm, "e1", b"event", then)
    assert await store.reminders.read(HERE) == {"r1": b"again"}
    assert await store.reminders.due(10) == []
    for key in (Keys(HERE).reminders, Keys(HERE).of("alarms")):
        assert 89 * 86_400 + REMINDER_S < await redis.ttl(key) <= 90 * 86_400 + REMINDER_S


async def test_a_held_conversation_gets_it_too(store: Store) -> None:
    """Whoever holds the lease reads the inbox before giving it back."""
    alarm = await due_now(store)
    lease = await store.leases.acquire(HERE)
    assert lease is not None
    assert await store.reminders.ring(alarm, "e1", b"event", None)
    assert await store.leases.release(lease)


async def test_a_known_id_changes_nothing(store: Store) -> None:
    """As when a call is made again after a crash."""
    await store.reminders.add(HERE, "r1", "u1", 10**13, b"one")
    await store.reminders.add(HERE, "r1", "u1", 1, b"other")
    assert await store.reminders.read(HERE) == {"r1": b"one"}
    assert await store.reminders.due(10) == []


async def test_a_person_has_at_most_so_many_and_others_theirs(store: Store, redis: Redis) -> None:
    """Of many at once, in conversations of many slots; a known id is no second one."""
    places = [f"slack:T1:C1:{number}" for number in range(60)]
    counted = await asyncio.gather(
        *(store.reminders.count("slack:u1", place, "r", 60, most=20) for place in places)
    )
    assert sum(counted) == 20
    assert [
        await store.reminders.count("slack:u1", place, "r", 90, most=20) for place in places
    ] == counted
    assert await store.reminders.count("slack:u10", HERE, "r", 60, most=20)
    assert await redis.ttl(reminders_of_key("slack:u1")) == 90


async def test_what_is_over_counts_no_longer(store: Store, redis: Redis) -> None:
    """A reminder that has come, and one whose process died before it was kept; the kept one
    counts."""
    await store.reminders.add(HERE, "kept", "u1", 10**13, b"")
    for reminder_id in ("kept", "come", "lost"):
        assert await store.reminders.count("line:u1", HERE, reminder_id, 60, most=3)
    assert not await store.reminders.count("line:u1", HERE, "r4", 60, most=3)
    for reminder_id in ("kept", "come", "lost"):
        await redis.zadd(reminders_of_key("line:u1"), {f"{HERE} {reminder_id}": 1})  # a while ago
    counted = [
        await store.reminders.count("line:u1", HERE, f"r{number}", 60, most=3)
        for number in range(3)
    ]
    assert counted == [True, True, False]
    await store.reminders.discount("line:u1", HERE, "r0")
    assert await store.reminders.count("line:u1", HERE, "r2", 60, most=3)


@pytest.mark.parametrize("whole", [False, True])
async def test_what_is_dropped_does_not_ring(store: Store, whole: bool) -> None:
    """One person's, or everybody's."""
    alarm, other = await due_now(store), await due_now(store, "r2", "u2")
    dropped = await store.reminders.drop(HERE, None if whole else "u1")
    assert dropped == (2 if whole else 1)
    assert not await store.reminders.ring(alarm, "e1", b"event", None)
    assert await store.reminders.due(10) == ([] if whole else [other])


async def test_one_that_rests_stays_and_does_not_come(store: Store) -> None:
    """Changing one that is gone changes nothing."""
    await due_now(store)
    await store.reminders.amend(HERE, "r1", b"failed", rests=True)
    await store.reminders.amend(HERE, "gone", b"failed", rests=True)
    assert await store.reminders.read(HERE) == {"r1": b"failed"}
    assert await store.reminders.due(10) == []
