"""Scheduled values: found when they are due, taken once, and kept for as long as they can still
be due."""

from __future__ import annotations

import asyncio

from redis.asyncio import Redis

from bot.store import ASIDE, DueValue, Next, Schedule, Store
from bot.store.keys import SCHEDULED_S, Keys
from tests.fixtures_store import endless_keys

HERE = "line:bot:user:u1"


def schedule_in(store: Store) -> Schedule:
    """Of one kind."""
    return Schedule(store.scripts, "tides")


async def due_now(store: Store, value_id: str = "v1") -> DueValue:
    """A value whose time has come."""
    at = await store.now_ms(HERE) - 1
    await schedule_in(store).add(HERE, value_id, at, b"value")
    return DueValue(at, HERE, value_id)


async def test_a_value_is_due_at_its_time_and_taken_once(store: Store, redis: Redis) -> None:
    """Ten processes at once: one entry in the inbox, the conversation is due, nothing is left."""
    schedule, due = schedule_in(store), await due_now(store)
    await schedule.add(HERE, "later", due.at + 3_600_000, b"later")
    assert await schedule.due(10) == [due]
    taken = await asyncio.gather(*(schedule.take(due, "e1", b"event", None) for _ in range(10)))
    assert sorted(taken) == [False] * 9 + [True]
    assert [(entry.kind, entry.body) for entry in await store.inbox.read(HERE)] == [
        (ASIDE, b"event")
    ]
    assert await store.leases.due(10) == [HERE]
    assert await schedule.read(HERE) == {"later": b"later"}
    assert await schedule.due(10) == []
    assert await endless_keys(redis) == []


async def test_another_kind_has_values_and_times_of_its_own(store: Store) -> None:
    """With the same ids, in the same conversation."""
    await due_now(store)
    other = Schedule(store.scripts, "moons")
    assert (await other.read(HERE), await other.due(10)) == ({}, [])


async def test_one_that_repeats_stays_with_its_next_time(store: Store, redis: Redis) -> None:
    """And its keys live until a week after that."""
    schedule, due = schedule_in(store), await due_now(store)
    then = Next(due.at + 90 * 86_400_000, b"again")
    assert await schedule.take(due, "e1", b"event", then)
    assert await schedule.read(HERE) == {"v1": b"again"}
    assert await schedule.due(10) == []
    for key in (Keys(HERE).of("tides"), Keys(HERE).times("tides")):
        assert 89 * 86_400 + SCHEDULED_S < await redis.ttl(key) <= 90 * 86_400 + SCHEDULED_S


async def test_a_held_conversation_gets_it_too(store: Store) -> None:
    """Whoever holds the lease reads the inbox before giving it back."""
    due = await due_now(store)
    lease = await store.leases.acquire(HERE)
    assert lease is not None
    assert await schedule_in(store).take(due, "e1", b"event", None)
    assert await store.leases.release(lease)


async def test_a_known_id_changes_nothing(store: Store) -> None:
    """As when a call is made again after a crash."""
    schedule = schedule_in(store)
    await schedule.add(HERE, "v1", 10**13, b"one")
    await schedule.add(HERE, "v1", 1, b"other")
    assert await schedule.read(HERE) == {"v1": b"one"}
    assert await schedule.due(10) == []


async def test_what_is_dropped_is_not_taken(store: Store) -> None:
    """Others are."""
    schedule, due, other = schedule_in(store), await due_now(store), await due_now(store, "v2")
    await schedule.drop(HERE, ["v1"])
    await schedule.drop(HERE, [])
    assert not await schedule.take(due, "e1", b"event", None)
    assert await schedule.due(10) == [other]


async def test_one_that_rests_stays_and_is_not_due(store: Store) -> None:
    """Changing one that is gone changes nothing."""
    schedule = schedule_in(store)
    await due_now(store)
    await schedule.rest(HERE, "v1")
    await schedule.amend(HERE, "v1", b"changed")
    await schedule.amend(HERE, "gone", b"changed")
    assert await schedule.read(HERE) == {"v1": b"changed"}
    assert (await schedule.find(HERE, "v1"), await schedule.find(HERE, "gone")) == (b"changed", b"")
    assert await schedule.due(10) == []
