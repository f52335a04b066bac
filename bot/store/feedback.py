"""What people think of answers: one hash for each day of answers, with one rating for each person
and answer."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from bot.store.belongings import Belongings
from bot.store.clients import Client, ask, translate_errors
from bot.store.keys import FEEDBACK_S, RATINGS, digest_of, feedback_key
from bot.store.scripts import Scripts

# A field is ``digest turn``, of the person and the turn's id; a value ``time mark body``, with 1
# for a good answer.


class StoredRating(NamedTuple):
    """A rating of an answer; ``at`` is its time in milliseconds since the epoch, the body is the
    caller's."""

    turn_id: str
    at: int
    is_good: bool
    body: bytes


class Feedback:
    """Ratings by the day of the answer. A day's expire ``FEEDBACK_S`` after the last of them."""

    def __init__(self, client: Client, scripts: Scripts, belongings: Belongings) -> None:
        self._client = client
        self._scripts = scripts
        self._belongings = belongings

    async def rate(self, day: str, person: str, rating: StoredRating) -> bool:
        """Keep a person's rating of an answer, in place of an earlier one.

        Args:
            person: channel and id; only a digest is kept.

        Returns:
            Whether it says something new: false for the same rating again, a late one, and beyond
            ``RATINGS``.
        """
        # Others may rate until a day is FEEDBACK_S old, and each renews all of that day.
        entry = f"rating {day} {rating.turn_id}"
        await self._belongings.add(person, entry, 2 * FEEDBACK_S)
        field = _field(person, rating.turn_id)
        arguments = [field, rating.at, int(rating.is_good), rating.body, RATINGS, FEEDBACK_S]
        return bool(await self._scripts.call("rate", [feedback_key(day)], arguments))

    async def read(self, days: Sequence[str]) -> list[list[StoredRating]]:
        """The ratings of each day's answers, oldest first."""
        async with translate_errors():
            stored = await self._client.execute_each(("HGETALL", feedback_key(day)) for day in days)
        days_ratings = []
        for fields in stored:
            ratings = [_rating(field, value) for field, value in fields.items()]
            days_ratings.append(sorted(ratings, key=attrgetter("at")))
        return days_ratings

    async def withdraw(self, day: str, turn_id: str, person: str) -> None:
        """Delete a person's rating of an answer, as ``rate`` names them."""
        await ask(self._client, "HDEL", feedback_key(day), _field(person, turn_id))


def _field(person: str, turn_id: str) -> str:
    return f"{digest_of(person)} {turn_id}"


def _rating(field: bytes, value: bytes) -> StoredRating:
    at, mark, body = value.split(b" ", 2)
    return StoredRating(field.partition(b" ")[2].decode(), int(at), mark == b"1", body)
