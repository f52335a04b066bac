"""A day's counters: atomic, idempotent, and gone by themselves."""

from __future__ import annotations

import asyncio
from collections import Counter as Counts

import pytest
from redis.asyncio import Redis

from bot.features.limits.store import SPENT_S, TOTALS_S, Counter, Counters, Spent, Totals
from bot.store import Store, open_store

TODAY, TOMORROW = "2026-11-21", "2026-11-22"
HANA = Counter("user", "line:U1", message_limit=5, token_limit=100)
ROOM = Counter("conversation", "line:bot:group:C1", message_limit=50)


async def spend(
    store: Store, tokens: int, *counters: Counter, messages: int = 0, user: str = "line:U1"
) -> int:
    """A model response of so many tokens."""
    counts = Counts({"output m": tokens, "turns m": 1, "tokens": tokens})
    users = Counts({user: tokens}) if user else Counts[str]()
    total = await Counters(store).add_up(TODAY, Totals(counts, users, Counts({"line:C1": tokens})))
    if counters:
        await Counters(store).count(TODAY, "", dict.fromkeys(counters, messages), tokens)
    return total


async def test_many_uses_at_once_never_go_beyond_a_limit(store: Store) -> None:
    """Twenty uses at the same moment: five are counted."""
    taken = await asyncio.gather(
        *(Counters(store).take(TODAY, f"t{number}", HANA, 1) for number in range(20))
    )
    assert taken.count(True) == 5
    assert await Counters(store).read(TODAY, "", [HANA]) == (0, [Spent(messages=5)])


async def test_a_use_that_asks_again_is_counted_once(store: Store) -> None:
    """After a crash nobody knows whether the first time was the last; its answer stays, also at the
    limit."""
    for _ in range(3):
        assert await Counters(store).take(TODAY, "t1", HANA, 5)
    assert not await Counters(store).take(TODAY, "t2", HANA, 1)
    assert await Counters(store).read(TODAY, "", [HANA]) == (0, [Spent(messages=5)])


async def test_uses_are_counted_whole_or_not_at_all(store: Store) -> None:
    """Four of five are used: two are too many, one is not."""
    assert await Counters(store).take(TODAY, "t1", HANA, 4)
    assert not await Counters(store).take(TODAY, "t2", HANA, 2)
    assert await Counters(store).take(TODAY, "t3", HANA, 1)


async def test_counting_knows_no_limit_and_reading_shows_who_is_counted(store: Store) -> None:
    """A turn that is counted already finds that out with what was used."""
    for _ in range(2):
        await Counters(store).count(TODAY, "t1", {HANA: 9, ROOM: 8}, 70)
    await Counters(store).count(TODAY, "t2", {HANA: 1})
    Counters(store).prefetch(TODAY, "t1", [HANA])
    assert await Counters(store).read(TODAY, "t1", [HANA, ROOM]) == (
        0,
        [Spent(10, 140, is_counted=True), Spent(8, 140, is_counted=True)],
    )
    assert await Counters(store).read(TODAY, "", [HANA]) == (0, [Spent(10, 140)])


async def test_a_days_totals_are_kept_by_model_and_ranked(store: Store) -> None:
    """For the operator: sums by kind and model, the heaviest first; a day without anything is
    empty."""
    assert await spend(store, 10, HANA) == 10
    assert await spend(store, 30, HANA, messages=2, user="line:U2") == 40
    assert await spend(store, 5, user="") == 45
    assert await Counters(store).days([TODAY, TOMORROW]) == [
        Totals(
            Counts({"tokens": 45, "output m": 45, "turns m": 3}),
            Counts({"line:U2": 30, "line:U1": 10}),
            Counts({"line:C1": 45}),
        ),
        Totals(),
    ]
    assert list((await Counters(store).days([TODAY]))[0].users) == ["line:U2", "line:U1"]
    assert await Counters(store).read(TODAY, "", [HANA]) == (45, [Spent(2, 40)])


async def test_a_ranking_is_read_in_either_protocol(store: Store, store_url: str) -> None:
    """Protocol 3 has pairs."""
    await spend(store, 10)
    await spend(store, 30, user="line:U2")
    async with open_store(f"{store_url}?protocol=3", history_days=30) as other:
        (day,) = await Counters(other).days([TODAY])
    assert day.users == {"line:U2": 30, "line:U1": 10}


async def test_counters_go_by_themselves_and_name_nobody(store: Store, redis: Redis) -> None:
    """After two days, totals after 35; no key bears an id."""
    await Counters(store).take(TODAY, "t1", HANA, 1)
    await spend(store, 10, ROOM)
    names = [name.decode() async for name in redis.scan_iter()]
    lives = {name: await redis.ttl(name) for name in names}
    spent = {name for name in names if ":spent:" in name}
    assert (len(spent), len(names)) == (2, 5)
    assert all(0 < lives[name] <= (SPENT_S if name in spent else TOTALS_S) for name in names)
    assert not any("U1" in name or "C1" in name for name in names)


@pytest.mark.long
async def test_a_ranking_stays_small(store: Store, redis: Redis) -> None:
    """A ranking keeps a fixed number of names, those with the most tokens."""
    for number in range(1, 504):
        await spend(store, number, user=f"u{number}")
    (ranking,) = [name async for name in redis.scan_iter("*:users")]
    assert await redis.zcard(ranking) == 500
    assert await redis.zscore(ranking, "u3") is None
