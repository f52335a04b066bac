"""Places in the store: the last good file, where people have written, and what that has cost.

kaiwa:{03}:note:places:good:…             the last good file with its personas
kaiwa:{07}:places:seen                    where people have written, by the time of the newest
kaiwa:{07}:places:tokens:2026-11-21       the digests of places by what they have used
kaiwa:{07}:places:micros:2026-11-21       the same in millionths of a dollar
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bot.clock import DAY_S
from bot.store import Store
from bot.store.keys import digest_of, shared_key
from bot.store.server import Command

GOOD = "places:good"
GOOD_S = 90 * DAY_S  # after somebody has read it last
SEEN_S = 30 * DAY_S
MOST_SEEN = 1_000  # places, also of a day's use
USE_S = 35 * DAY_S
SEEN = shared_key("places", "seen")


class Use(NamedTuple):
    """What a place has used on a day."""

    tokens: int
    micros: int


class SeenPlaces:
    """Where people have written. Every method that waits raises ``StoreUnavailable`` if the store
    does not answer."""

    def __init__(self, store: Store) -> None:
        self._scripts = store.scripts

    def note_later(self, place: str, at: int) -> None:
        """Note a place with the process's next request."""
        commands = [
            ("ZADD", SEEN, at, place),
            ("ZREMRANGEBYRANK", SEEN, 0, -MOST_SEEN - 1),
            ("EXPIRE", SEEN, SEEN_S),
        ]
        _ = self._scripts.send_later([self._scripts.transaction(commands)])

    def add_later(self, day: str, place: str, use: Use) -> None:
        """Add what a place has used with the process's next request."""
        commands: list[Command] = []
        for kind, amount in use._asdict().items():
            key = _use_key(kind, day)
            commands.append(("ZINCRBY", key, amount, digest_of(place)))
            commands.append(("ZREMRANGEBYRANK", key, 0, -MOST_SEEN - 1))
            commands.append(("EXPIRE", key, USE_S))
        _ = self._scripts.send_later([self._scripts.transaction(commands)])

    async def forget(self, place: str) -> None:
        """Forget that anybody has written there."""
        await self._scripts.ask("ZREM", SEEN, place)

    async def read(self) -> list[str]:
        """The places, the newest first."""
        return [place.decode() for place in await self._scripts.ask("ZREVRANGE", SEEN, 0, -1)]

    async def used(self, days: Sequence[str], places: Sequence[str]) -> list[Use]:
        """What each of these places has used on these days."""
        names, found = [digest_of(place) for place in places], []
        for kind in Use._fields if names else ():
            asked = [("ZMSCORE", _use_key(kind, day), *names) for day in days]
            rows = await self._scripts.ask_each(asked)
            columns = zip(*rows, strict=True)
            found.append([sum(int(float(score or 0)) for score in each) for each in columns])
        return [Use(*amounts) for amounts in zip(*found, strict=True)]


def _use_key(kind: str, day: str) -> str:
    return shared_key("places", f"{kind}:{day}")
