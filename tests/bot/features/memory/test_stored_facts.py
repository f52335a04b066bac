"""What people want remembered: bounded, numbered for good, apart by person and place, and gone when
it is deleted."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from redis.asyncio import Redis

from bot.features.memory.store import (
    FACT_CHARACTERS,
    FACTS,
    FACTS_S,
    KIND,
    Fact,
    PersonFacts,
    erase,
)
from bot.store import Store
from tests.waiting import until_true

HERE, ME = "slack:T1:C1", "U1"


def mine(store: Store) -> PersonFacts:
    """One person's facts in one place."""
    return PersonFacts(store, HERE, ME)


async def fact_keys(redis: Redis) -> list[bytes]:
    """Of all people and places."""
    return sorted([name async for name in redis.scan_iter("kaiwa:*:facts:*")])


async def test_facts_come_back_in_their_order(store: Store) -> None:
    """Each with the number that it was given; what nobody wanted remembered is nothing."""
    assert await mine(store).read() == []
    assert await mine(store).remember("likes tea") == 1
    assert await mine(store).remember("京都に住んでいる") == 2
    assert await mine(store).read() == [
        Fact(1, "likes tea"),
        Fact(2, "京都に住んでいる"),
    ]


async def test_a_repeated_call_keeps_one_fact(store: Store) -> None:
    """By its text: after a crash, and when somebody says it again."""
    for _ in range(2):
        assert await mine(store).remember("likes tea") == 1
    assert await mine(store).read() == [Fact(1, "likes tea")]


async def test_a_number_is_given_once(store: Store) -> None:
    """So that a repeated deletion never takes a newer fact; it succeeds, but not for a number that
    nobody knows."""
    for key in ("one", "two"):
        await mine(store).remember(key)
    assert [await mine(store).forget(number) for number in (2, 2, 3)] == [
        True,
        True,
        False,
    ]
    assert await mine(store).remember("three") == 3
    assert await mine(store).read() == [Fact(1, "one"), Fact(3, "three")]
    assert not await PersonFacts(store, HERE, "U2").forget(1)


async def test_they_are_bounded(store: Store) -> None:
    """In number and length, whoever asks; after a deletion there is room again."""
    for number in range(FACTS):
        assert await mine(store).remember(f"{number} {'長' * 300}") == number + 1
    assert await mine(store).remember("one more") == 0
    assert {len(fact.text) for fact in await mine(store).read()} == {FACT_CHARACTERS}
    assert await mine(store).forget(7)
    assert await mine(store).remember("one more") == FACTS + 1


async def test_two_processes_at_once_keep_both(store: Store) -> None:
    """Threads of one channel are answered side by side."""
    stored = await asyncio.gather(*(mine(store).remember(f"fact {n}") for n in range(20)))
    assert sorted(stored) == list(range(1, 21))


@pytest.mark.long
async def test_reading_them_renews_their_year(store: Store, redis: Redis) -> None:
    """Reading is their use; a person without facts gets no key."""
    await mine(store).remember("likes tea")
    (key,) = await fact_keys(redis)
    await redis.expire(key, 60)
    await mine(store).read()

    async def is_renewed() -> bool:
        return bool(FACTS_S - 5 < await redis.ttl(key) <= FACTS_S)

    await until_true(is_renewed)
    await PersonFacts(store, HERE, "U2").read()
    assert await fact_keys(redis) == [key]


async def test_a_prefetched_read_is_used_once_and_not_after_a_change(
    store: Store, redis: Redis
) -> None:
    """It goes with the next request; what was changed since is read anew."""
    await mine(store).remember("likes tea")
    mine(store).prefetch()
    mine(store).prefetch()
    await store.ping()
    assert await mine(store).read() == [Fact(1, "likes tea")]
    mine(store).prefetch()
    await mine(store).remember("likes coffee")
    assert len(await mine(store).read()) == 2
    mine(store).prefetch()
    await mine(store).forget(2)
    assert await mine(store).read() == [Fact(1, "likes tea")]
    mine(store).prefetch()
    await asyncio.sleep(0.1)
    await redis.delete(*await fact_keys(redis))
    store.scripts.drop()
    assert await mine(store).read() == []


async def test_facts_go_with_their_person_or_place(store: Store, redis: Redis) -> None:
    """Those of others stay with the person's, but not with the place."""
    kept = {KIND: partial(erase, store)}
    await mine(store).remember("likes tea")
    await PersonFacts(store, HERE, "U2").remember("likes coffee")
    await store.personal_data.erase_person(f"slack:{ME}", kept)
    assert [key.endswith(b":U2") for key in await fact_keys(redis)] == [True]
    await store.personal_data.erase_place(HERE, kept)
    assert await fact_keys(redis) == []
