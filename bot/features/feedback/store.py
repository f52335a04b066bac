"""Ratings in the store: one hash for each day of answers, with one rating for each person and
answer."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from bot.store import Store
from bot.store.keys import DAY_S, digest_of, shared_key

KIND = "rating"  # in the index of what belongs to somebody: a day, and a turn
FEEDBACK_S = 90 * DAY_S  # the ratings of a day's answers, after the last one; so long they can come
RATINGS = 20_000  # of one day's answers

# A field is ``digest turn``, of the person and the turn's id; a value ``time mark body``, with 1
# for a good answer.


class StoredRating(NamedTuple):
    """A rating of an answer; ``at`` is its time in milliseconds since the epoch, the body is the
    caller's."""

    turn_id: str
    at: int
    is_good: bool
    body: bytes


class StoredRatings:
    """Ratings by the day of the answer. A day's expire ``FEEDBACK_S`` after the last of them."""

    def __init__(self, store: Store) -> None:
        self._scripts = store.scripts
        self._belongings = store.belongings

    async def rate(self, day: str, person: str, rating: StoredRating) -> bool:
        """Keep a person's rating of an answer, in place of an earlier one.

        Args:
            person: channel and id; only a digest is kept.

        Returns:
            Whether it says something new: false for the same rating again, a late one, and beyond
            ``RATINGS``.
        """
        # Others may rate until a day is FEEDBACK_S old, and each renews all of that day.
        entry = f"{KIND} {day} {rating.turn_id}"
        await self._belongings.add(person, entry, 2 * FEEDBACK_S)
        field = _field(person, rating.turn_id)
        arguments = [field, rating.at, int(rating.is_good), rating.body, RATINGS, FEEDBACK_S]
        return bool(await self._scripts.call("feedback.rate", [key_of(day)], arguments))

    async def read(self, days: Sequence[str]) -> list[list[StoredRating]]:
        """The ratings of each day's answers, oldest first."""
        stored = await self._scripts.ask_each(("HGETALL", key_of(day)) for day in days)
        days_ratings = []
        for fields in stored:
            ratings = [_rating(field, value) for field, value in fields.items()]
            days_ratings.append(sorted(ratings, key=attrgetter("at")))
        return days_ratings

    async def withdraw(self, person: str, entry: str) -> None:
        """Delete a person's rating of an answer (``bot.store.Erase``)."""
        day, _, turn_id = entry.partition(" ")
        await self._scripts.ask("HDEL", key_of(day), _field(person, turn_id))


def key_of(day: str) -> str:
    """The key of the ratings of a day's answers; all days share a slot."""
    return shared_key("feedback", day)


def _field(person: str, turn_id: str) -> str:
    return f"{digest_of(person)} {turn_id}"


def _rating(field: bytes, value: bytes) -> StoredRating:
    at, mark, body = value.split(b" ", 2)
    return StoredRating(field.partition(b" ")[2].decode(), int(at), mark == b"1", body)
