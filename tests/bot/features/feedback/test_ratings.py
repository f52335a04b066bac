"""Ratings are counted by the day of their answer, whoever passes them on."""

from __future__ import annotations

from typing import Any

import pytest

from bot.clock import Days
from bot.features.feedback.ratings import KnownRating, Rating, Ratings, read_ratings
from bot.features.feedback.store import StoredRating, StoredRatings
from bot.store import Store
from bot.telemetry import Metrics

NOW_S = 1_795_300_000.0  # 2026-11-22 in Tokyo, the day before in UTC
DAY = "2026-11-22"
RATING = Rating(
    "turn_1", "line:U0:group:C1", "U1", "gemini", is_good=True, answered_at=1_795_299_000_000, at=1
)


def keeper(store: Store, metrics: Metrics | None = None) -> Ratings:
    """In Tokyo."""
    return Ratings(store, metrics or Metrics(), Days("Asia/Tokyo", lambda: NOW_S))


def changed(**fields: Any) -> Rating:
    """The same rating, with some fields changed."""
    return RATING._replace(**fields)


async def test_any_channel_can_pass_a_rating_on(store: Store) -> None:
    """It is kept without the person, on the day of the answer in the bot's time zone."""
    metrics = Metrics()
    ratings = keeper(store, metrics)
    assert await ratings.keep(RATING)
    assert not await ratings.keep(RATING)
    assert await ratings.keep(changed(is_good=False, at=2))
    expected = KnownRating(DAY, "turn_1", "line:U0:group:C1", "gemini", is_good=False, at=2)
    assert await read_ratings(store, [DAY]) == [expected]
    shown = metrics.exposition()
    assert b'kaiwa_feedback_total{channel="line",model="gemini",rating="good"} 1.0' in shown
    assert b'kaiwa_feedback_total{channel="line",model="gemini",rating="bad"} 1.0' in shown


@pytest.mark.parametrize("fields", [{"person": ""}, {"answered_at": 1_700_000_000_000}])
async def test_nobody_and_old_answers_do_not_count(store: Store, fields: dict[str, Any]) -> None:
    """The other ratings of such an answer are gone already."""
    assert not await keeper(store).keep(changed(**fields))


async def test_an_answer_of_a_clock_ahead_is_todays(store: Store) -> None:
    """Platforms have clocks of their own."""
    assert await keeper(store).keep(changed(answered_at=1_900_000_000_000))
    assert len(await read_ratings(store, [DAY])) == 1


async def test_a_rating_that_cannot_be_read_is_left_out(store: Store) -> None:
    """It keeps no other from being counted."""
    await StoredRatings(store).rate(DAY, "slack:U1", StoredRating("turn_1", 1, True, b"[]"))
    assert await read_ratings(store, [DAY]) == []
