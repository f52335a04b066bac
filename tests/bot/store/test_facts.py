"""What people want remembered: bounded, numbered for good, apart by person and place, and gone when
it is deleted."""

from __future__ import annotations

import asyncio

import pytest
from redis.asyncio import Redis

from bot.store import Fact, Store
from bot.store.keys import FACT_CHARACTERS, FACTS, FACTS_S
from tests.waiting import until_true

HERE, ME = "slack:T1:C1", "U1"


async def fact_keys(redis: Redis) -> list[bytes]:
    """Of all people and places."""
    return sorted([name async for name in redis.scan_iter("kaiwa:*:facts:*")])


async def test_facts_come_back_in_their_order(store: Store) -> None:
    """Each with the number that it was given; what nobody wanted remembered is nothing."""
    assert await store.person_facts.read(HERE, ME) == []
    assert await store.person_facts.remember(HERE, ME, "likes tea") == 1
    assert await store.person_facts.remember(HERE, ME, "京都に住んでいる") == 2
    assert await store.person_facts.read(HERE, ME) == [
        Fact(1, "likes tea"),
        Fact(2, "京都に住んでいる"),
    ]


async def test_a_repeated_call_keeps_one_fact(store: Store) -> None:
    """By its text: after a crash, and when somebody says it again."""
    for _ in range(2):
        assert await store.person_facts.remember(HERE, ME, "likes tea") == 1
    assert await store.person_facts.read(HERE, ME) == [Fact(1, "likes tea")]


async def test_a_number_is_given_once(store: Store) -> None:
    """So that a repeated deletion never takes a newer fact; it succeeds, but not for a number that
    nobody knows."""
    for key in ("one", "two"):
        await store.person_facts.remember(HERE, ME, key)
    assert [await store.person_facts.forget(HERE, ME, number) for number in (2, 2, 3)] == [
        True,
        True,
        False,
    ]
    assert await store.person_facts.remember(HERE, ME, "three") == 3
    assert await store.person_facts.read(HERE, ME) == [Fact(1, "one"), Fact(3, "three")]
    assert not await store.person_facts.forget(HERE, "U2", 1)


async def test_they_are_bounded(store: Store) -> None:
    """In number and length, whoever asks; after a deletion there is room again."""
    for number in range(FACTS):
        assert await store.person_facts.remember(HERE, ME, f"{number} {'長' * 300}") == number + 1
    assert await store.person_facts.remember(HERE, ME, "one more") == 0
    assert {len(fact.text) for fact in await store.person_facts.read(HERE, ME)} == {FACT_CHARACTERS}
    assert await store.person_facts.forget(HERE, ME, 7)
    assert await store.person_facts.remember(HERE, ME, "one more") == FACTS + 1


async def test_two_processes_at_once_keep_both(store: Store) -> None:
    """Threads of one channel are answered side by side."""
    stored = await asyncio.gather(
        *(store.person_facts.remember(HERE, ME, f"fact {n}") for n in range(20))
    )
    assert sorted(stored) == list(range(1, 21))


@pytest.mark.long
async def test_reading_them_renews_their_year(store: Store, redis: Redis) -> None:
    """Reading is their use; a person without facts gets no key."""
    await store.person_facts.remember(HERE, ME, "likes tea")
    (key,) = await fact_keys(redis)
    await redis.expire(key, 60)
    await store.person_facts.read(HERE, ME)

    async def is_renewed() -> bool:
        return bool(FACTS_S - 5 < await redis.ttl(key) <= FACTS_S)

    await until_true(is_renewed)
    await store.person_facts.read(HERE, "U2")
    assert await fact_keys(redis) == [key]


async def test_a_prefetched_read_is_used_once_and_not_after_a_change(
    store: Store, redis: Redis
) -> None:
    """It goes with the next request; what was changed since is read anew."""
    await store.person_facts.remember(HERE, ME, "likes tea")
    store.person_facts.prefetch(HERE, ME)
    store.person_facts.prefetch(HERE, ME)
    await store.ping()
    assert await store.person_facts.read(HERE, ME) == [Fact(1, "likes tea")]
    store.person_facts.prefetch(HERE, ME)
    await store.person_facts.remember(HERE, ME, "likes coffee")
    assert len(await store.person_facts.read(HERE, ME)) == 2
    store.person_facts.prefetch(HERE, ME)
    await store.person_facts.forget(HERE, ME, 2)
    assert await store.person_facts.read(HERE, ME) == [Fact(1, "likes tea")]
    store.person_facts.prefetch(HERE, ME)
    await asyncio.sleep(0.1)
    await redis.delete(*await fact_keys(redis))
    store.prefetches.clear()
    assert await store.person_facts.read(HERE, ME) == []
