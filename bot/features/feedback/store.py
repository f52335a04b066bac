"""Ratings in the store: one hash for each day of answers, with one rating for each person and
answer."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import structlog
from msgspec import Struct
from msgspec.json import Decoder

from bot.clock import DAY_S
from bot.store import Store
from bot.store.keys import digest_of, shared_key
from bot.transcript import UNREADABLE, encode

log = structlog.stdlib.get_logger(__name__)

KIND = "rating"  # in the index of what belongs to somebody: a day, and a turn
FEEDBACK_S = 90 * DAY_S  # the ratings of a day's answers, after the last one; so long they can come
RATINGS = 20_000  # of one day's answers

# A field is ``digest turn``, of the person and the turn's id; a value ``time mark JSON``, with 1
# for a good answer.


class Answer(Struct, frozen=True):
    """The model that wrote an answer, where it is (``Place.id``), and the model's persona."""

    model: str
    place: str
    persona: str = ""


class Rating(Struct, frozen=True):
    """What somebody thinks of an answer, without the person.

    Attributes:
        day: of the answer.
        at: time of the press, milliseconds since the epoch; of two, the later one counts.
        persona: digest of the one that the model had.
    """

    day: str
    turn_id: str
    place: str
    model: str
    is_good: bool
    at: int
    persona: str = ""


_decode = Decoder(Answer).decode


class Ratings:
    """Ratings by the day of the answer. A day's expire ``FEEDBACK_S`` after the last of them.

    Every method raises ``StoreUnavailable`` if the store does not answer.
    """

    def __init__(self, store: Store) -> None:
        self._scripts = store.scripts
        self._belongings = store.belongings

    async def keep(self, person: str, rating: Rating) -> bool:
        """Keep a person's rating of an answer, in place of an earlier one.

        Args:
            person: channel and id; only a digest is kept.

        Returns:
            Whether it says something new: false for the same rating again, a late one, and beyond
            ``RATINGS``.
        """
        # Others may rate until a day is FEEDBACK_S old, and each renews all of that day.
        entry = f"{KIND} {rating.day} {rating.turn_id}"
        await self._belongings.add(person, entry, 2 * FEEDBACK_S)
        field = _field(person, rating.turn_id)
        body = encode(Answer(rating.model, rating.place, rating.persona))
        arguments = [field, rating.at, int(rating.is_good), body, RATINGS, FEEDBACK_S]
        return bool(await self._scripts.call("feedback.rate", [key_of(rating.day)], arguments))

    async def read(self, days: Sequence[str]) -> list[Rating]:
        """The ratings of these days' answers, of each day the oldest first; unreadable ones are
        left out."""
        stored = await self._scripts.ask_each(("HGETALL", key_of(day)) for day in days)
        found: list[Rating] = []
        for day, fields in zip(days, stored, strict=True):
            ratings = []
            for field, value in fields.items():
                at, mark, body = value.split(b" ", 2)
                turn_id = field.partition(b" ")[2].decode()
                try:
                    answer = _decode(body)
                except UNREADABLE:
                    log.error("feedback.unreadable")
                    continue
                is_good = mark == b"1"
                whose = answer.place, answer.model
                ratings.append(Rating(day, turn_id, *whose, is_good, int(at), answer.persona))
            found += sorted(ratings, key=attrgetter("at"))
        return found

    async def withdraw(self, person: str, entry: str) -> None:
        """Delete a person's rating of an answer (``bot.store.Erase``)."""
        day, _, turn_id = entry.partition(" ")
        await self._scripts.ask("HDEL", key_of(day), _field(person, turn_id))


def key_of(day: str) -> str:
    """The key of the ratings of a day's answers; all days share a slot."""
    return shared_key("feedback", day)


def _field(person: str, turn_id: str) -> str:
    return f"{digest_of(person)} {turn_id}"
