"""What people think of answers: one hash for each day of answers, with one rating for each person
and answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from bot.store.clients import Client, translate_errors
from bot.store.keys import FEEDBACK_S, RATINGS, feedback_key
from bot.store.lists import digest_of

# A field is ``digest turn``, of the person and the turn's id; a value ``time mark body``, with 1
# for a good answer. Of two ratings by one person the later one stays, in whatever order they come.
# A full store takes none.
RATE = """#!lua
local ratings, field, at, mark, body = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local was = redis.call('HGET', ratings, field)
local earlier, before = string.match(was or '', '^(%d+) (%d)')
if earlier and tonumber(earlier) >= tonumber(at) then
    return 0
end
if not was and redis.call('HLEN', ratings) >= tonumber(ARGV[5]) then
    return 0
end
redis.call('HSET', ratings, field, at .. ' ' .. mark .. ' ' .. body)
redis.call('EXPIRE', ratings, ARGV[6])
return before ~= mark and 1 or 0
"""

FORGET = """#!lua flags=allow-oom
local people = {}
for index = 1, #ARGV do
    people[ARGV[index]] = true
end
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if people[string.match(field, '^[^ ]+')] then
        redis.call('HDEL', KEYS[1], field)
    end
end
"""


class StoredRating(NamedTuple):
    """A rating of an answer; ``at`` is its time in milliseconds since the epoch, the body is the
    caller's."""

    turn_id: str
    at: int
    is_good: bool
    body: bytes


class Feedback:
    """Ratings by the day of the answer. A day's expire ``FEEDBACK_S`` after the last of them."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def rate(self, day: str, person: str, rating: StoredRating) -> bool:
        """Keep a person's rating of an answer, in place of an earlier one.

        Args:
            person: channel and id; only a digest is kept.

        Returns:
            Whether it says something new: false for the same rating again, a late one, and beyond
            ``RATINGS``.
        """
        field = f"{digest_of(person)} {rating.turn_id}"
        values = (rating.at, int(rating.is_good), rating.body, RATINGS, FEEDBACK_S)
        async with translate_errors():
            return bool(await self._client.eval(RATE, 1, feedback_key(day), field, *values))

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
            _ = await self._client.execute_each(("EVAL", FORGET, 1, key, *digests) for key in keys)


def _rating(field: bytes, value: bytes) -> StoredRating:
    at, mark, body = value.split(b" ", 2)
    return StoredRating(field.partition(b" ")[2].decode(), int(at), mark == b"1", body)
