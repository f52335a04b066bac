"""Ratings in the store: one for each person and answer, the later one counts, bounded, gone with
who gave them."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bot.features.feedback.store import FEEDBACK_S, KIND, Rating, Ratings, key_of
from bot.store import Store

DAY, NEXT = "2026-11-21", "2026-11-22"
ANN, BEN = "slack:U1", "slack:U2"


async def rate(
    store: Store, person: str, at: int, *, good: bool = True, turn: str = "turn_1", day: str = DAY
) -> bool:
    """A press."""
    rating = Rating(day, turn, "slack:T1:C1", "m 1", good, at)
    return await Ratings(store).keep(person, rating)


async def stored(store: Store, *days: str) -> list[tuple[str, int, bool]]:
    """Turns, times and ratings of these days."""
    found = await Ratings(store).read(days)
    return [(rating.turn_id, rating.at, rating.is_good) for rating in found]


async def test_a_person_has_one_rating_of_an_answer(store: Store) -> None:
    """The later press counts, in whatever order they come; the same again says nothing new."""
    pressed = [
        await rate(store, ANN, 10),
        await rate(store, ANN, 20, good=False),
        await rate(store, ANN, 15),
        await rate(store, ANN, 20, good=False),
        await rate(store, ANN, 30, good=False),
        await rate(store, BEN, 5),
        await rate(store, ANN, 40, turn="turn_2"),
    ]
    assert pressed == [True, True, False, False, False, True, True]
    assert await stored(store, DAY, NEXT) == [
        ("turn_1", 5, True),
        ("turn_1", 30, False),
        ("turn_2", 40, True),
    ]


async def test_ratings_name_nobody_and_expire(store: Store, redis: Redis) -> None:
    """They stand under a digest."""
    await rate(store, ANN, 10)
    assert 0 < await redis.ttl(key_of(DAY)) <= FEEDBACK_S
    assert "U1" not in str(await redis.hgetall(key_of(DAY)))


async def test_a_day_keeps_so_many(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is among them may still change their mind."""
    monkeypatch.setattr("bot.features.feedback.store.RATINGS", 1)
    assert [await rate(store, ANN, 10), await rate(store, BEN, 10)] == [True, False]
    assert await rate(store, ANN, 20, good=False)
    assert await stored(store, DAY) == [("turn_1", 20, False)]


async def test_a_rating_goes_with_who_gave_it(store: Store) -> None:
    """Found by the index; others' ratings of the same answer stay."""
    await rate(store, ANN, 10)
    await rate(store, BEN, 20, good=False)
    await store.personal_data.erase_person(ANN, {KIND: Ratings(store).withdraw})
    assert await stored(store, DAY) == [("turn_1", 20, False)]
    assert await store.belongings.read(ANN) == []


async def test_a_rating_that_cannot_be_read_is_left_out(store: Store, redis: Redis) -> None:
    """It keeps no other from being counted."""
    await rate(store, ANN, 10)
    await redis.hset(key_of(DAY), "digest turn_2", b"1 1 []")
    assert await stored(store, DAY) == [("turn_1", 10, True)]
