"""Ratings, and how they are kept and read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import structlog
from msgspec import Struct
from msgspec.json import Decoder

from bot.clock import Days
from bot.features.feedback.store import FEEDBACK_S, StoredRating, StoredRatings
from bot.store import Store
from bot.store.keys import DAY_S
from bot.telemetry import Metrics
from bot.transcript import UNREADABLE, channel_of, encode

log = structlog.stdlib.get_logger(__name__)


class RatedAnswer(Struct, frozen=True):
    """The answer of a stored rating: the model that wrote it, and where."""

    model: str
    place: str


class KnownRating(Struct, frozen=True):
    """A stored rating, without the person; ``at`` is its time in milliseconds since the epoch."""

    day: str
    turn_id: str
    place: str
    model: str
    is_good: bool
    at: int


_decode = Decoder(RatedAnswer).decode


class Rating(NamedTuple):
    """What a person thinks of an answer.

    Attributes:
        place: where the answer is (``Place.id``).
        person: the platform's id.
        model: that wrote the answer.
        answered_at: time of the answer, milliseconds since the epoch; every rating of the answer
            has the same.
        at: time of the press; of two, the later one counts.
    """

    turn_id: str
    place: str
    person: str
    model: str
    is_good: bool
    answered_at: int
    at: int


class Ratings:
    """Keeps ratings.

    Args:
        days: the calendar by which answers are counted.
    """

    def __init__(self, store: Store, metrics: Metrics, days: Days) -> None:
        self._stored = StoredRatings(store)
        self._metrics = metrics
        self._days = days

    async def keep(self, rating: Rating) -> bool:
        """Keep a rating in place of the person's earlier one; false if it says nothing new.

        An answer whose day is no longer kept cannot be rated: its other ratings are gone.

        Raises:
            StoreUnavailable: it is not kept.
        """
        day, channel = self._days.of(rating.answered_at), channel_of(rating.place)
        if not rating.person or day not in self._days.latest(FEEDBACK_S // DAY_S):
            return False
        body = encode(RatedAnswer(rating.model, rating.place))
        stored = StoredRating(rating.turn_id, rating.at, rating.is_good, body)
        is_new = await self._stored.rate(day, f"{channel}:{rating.person}", stored)
        if is_new:
            outcome = "good" if rating.is_good else "bad"
            self._metrics.feedback.labels(channel, rating.model, outcome).inc()
            log.info(
                "feedback.given",
                turn=rating.turn_id,
                channel=channel,
                model=rating.model,
                rating=outcome,
            )
        return is_new


async def read_ratings(store: Store, days: Sequence[str]) -> list[KnownRating]:
    """The ratings of these days' answers; unreadable ones are left out.

    Raises:
        StoreUnavailable: they cannot be read.
    """
    stored = await StoredRatings(store).read(days)
    ratings = []
    for day, found in zip(days, stored, strict=True):
        for rating in found:
            if known := _known(day, rating):
                ratings.append(known)
    return ratings


def _known(day: str, rating: StoredRating) -> KnownRating | None:
    try:
        answer = _decode(rating.body)
    except UNREADABLE:
        log.error("feedback.unreadable")
        return None
    return KnownRating(
        day, rating.turn_id, answer.place, answer.model, is_good=rating.is_good, at=rating.at
    )
