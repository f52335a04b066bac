"""Places in the store: the last good file, where people have written, and what that has cost.

kaiwa:{03}:note:places:good:…             the last good file with its personas
kaiwa:{07}:places:seen                    where people have written, by the time of the newest
kaiwa:{07}:places:use:2026-11-21          tokens and micro-dollars by the digest of a place
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from bot.clock import DAY_S
from bot.store import Store
from bot.store.keys import digest_of, shared_key

GOOD = "places:good"
GOOD_S = 90 * DAY_S  # after somebody has read it last
SEEN_S = 30 * DAY_S
MOST_SEEN = 1_000
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
        key, name = _use_key(day), digest_of(place)
        commands = [
            ("HINCRBY", key, f"{name} tokens", use.tokens),
            ("HINCRBY", key, f"{name} micros", use.micros),
            ("EXPIRE", key, USE_S),
        ]
        _ = self._scripts.send_later([self._scripts.transaction(commands)])

    async def forget(self, place: str) -> None:
        """Forget that anybody has written there."""
        await self._scripts.ask("ZREM", SEEN, place)

    async def read(self) -> list[str]:
        """The places, the newest first."""
        return [place.decode() for place in await self._scripts.ask("ZREVRANGE", SEEN, 0, -1)]

    async def used(self, days: Iterable[str]) -> dict[str, Use]:
        """What each place has used on these days, by its digest."""
        counts: Counter[str] = Counter()
        for answer in await self._scripts.ask_each(("HGETALL", _use_key(day)) for day in days):
            for field, count in answer.items():
                counts[field.decode()] += int(count)
        names = {field.partition(" ")[0] for field in counts}
        return {name: Use(counts[f"{name} tokens"], counts[f"{name} micros"]) for name in names}


def _use_key(day: str) -> str:
    return shared_key("places", f"use:{day}")
