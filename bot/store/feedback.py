"""What people think of answers: one hash for each day of answers, with one rating for each person
and answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, cast

from bot.store.clients import Client, translate_errors
from bot.store.keys import FEEDBACK_S, RATINGS, feedback_key
from bot.store.lists import digest_of
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

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def rate(self, day: str, person: str, rating: StoredRating) -> bool:
        """Keep a person's rating of an answer, in place of an earlier one.

        Args:
            person: channel and id; only a digest is kept.

        Returns:
            Whether it says something new: false for the same rating again, a late one, and beyond
            ``RATINGS``.
        """
        field = f"{digest_of(person)} {rating.turn_id}"
        arguments = [field, rating.at, int(rating.is_good), rating.body, RATINGS, FEEDBACK_S]
        return bool(await self._scripts.call("rate", [feedback_key(day)], arguments))

    async def read(self, days: Sequence[str]) -> list[list[StoredRating]]:
        """The ratings of each day's answers, oldest first."""
        async with translate_errors():
            stored = await self._client.execute_each(("HGETALL", feedback_key(day)) for day in days)
        return [
            sorted(
                (_rating(field, value) for field, value in ratings.items()),
                key=lambda rating: rating.at,
            )
            for ratings in stored
        ]

    async def forget(self, people: Collection[str]) -> None:
        """Delete every rating by one of these people, each as ``rate`` names them."""
        digests = [digest_of(person) for person in people]
        async with translate_errors():
            keys = [
                key.decode() async for key in self._client.scan_iter(feedback_key("*"), count=1_000)
            ]
            for key in keys:
                fields = cast("list[bytes]", await self._client.hkeys(key))
                for field in fields:
                    if field.partition(b" ")[0].decode() in digests:
                        await self._client.execute_soon(("HDEL", key, field))


def _rating(field: bytes, value: bytes) -> StoredRating:
    at, mark, body = value.split(b" ", 2)
    return StoredRating(field.partition(b" ")[2].decode(), int(at), mark == b"1", body)
