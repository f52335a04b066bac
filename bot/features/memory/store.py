"""Facts that people want remembered: one hash for each person and place, from a fact's number to
its text."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from bot.clock import DAY_S
from bot.store import Store
from bot.store.keys import Keys, digest_of, person_of
from bot.store.server import Read

KIND = "facts"  # in the index of what belongs to somebody: a place, and an id
FACTS_S = 366 * DAY_S  # facts of a person in a place, after their last use; renewed once a day
FACTS = 100  # of one person in one place
FACT_CHARACTERS = 200


class Fact(NamedTuple):
    """One fact; the number stays the same as long as the fact is kept."""

    number: int
    text: str


class PersonFacts:
    """The facts of one person in one place. They expire ``FACTS_S`` after they were last read or
    added to.

    Every method that waits raises ``StoreUnavailable`` if the store does not answer.
    """

    def __init__(self, store: Store, place: str, person: str) -> None:
        self._scripts = store.scripts
        self._belongings = store.belongings
        self._key = _key(place, person)
        self._read: Read = (("HGETALL", self._key),)
        self._owners = (person_of(place, person), place)
        self._entry = f"{KIND} {place} {person}"

    def prefetch(self) -> None:
        """Read with the process's next request; the next ``read`` within ``PREFETCHED_S`` takes
        it."""
        self._scripts.prefetch(self._read)

    async def read(self) -> list[Fact]:
        """All facts, oldest first."""
        (stored,) = await self._scripts.read(self._read)
        if stored:
            left = self._scripts.send_later([("TTL", self._key)])
            left.add_done_callback(self._renew)
        facts = []
        for field, value in stored.items():
            if field != b"last":
                facts.append(Fact(int(field), value.split(b" ", 2)[2].decode()))
        return sorted(facts)

    def _renew(self, left: asyncio.Future[list[Any]]) -> None:
        """Let facts live on, as reading them is their use; once a day."""
        if left.cancelled() or left.exception() or left.result()[0] > FACTS_S - DAY_S:
            return
        _ = self._scripts.send_later([("EXPIRE", self._key, FACTS_S)])
        for owner in self._owners:
            _ = self._belongings.add_later(owner, [self._entry], FACTS_S)

    async def remember(self, text: str) -> int:
        """Keep a fact, unless this text is kept already.

        Args:
            text: one line; ``FACT_CHARACTERS`` of it are kept.

        Returns:
            The fact's number; 0 where ``FACTS`` are kept already.
        """
        fact = text[:FACT_CHARACTERS]
        self._scripts.drop(self._read)
        for owner in self._owners:
            await self._belongings.add(owner, self._entry, FACTS_S)
        # The mark 0: a fact makes no room for another one.
        arguments = [FACTS_S, FACTS, "", f"{digest_of(fact)} 0 {fact}"]
        [number] = await self._scripts.call("write_items", [self._key], arguments)
        return int(number)

    async def forget(self, number: int) -> bool:
        """Delete a fact; False where no fact has had this number."""
        self._scripts.drop(self._read)
        requests = [("HDEL", self._key, number), ("HGET", self._key, "last")]
        _, last = await self._scripts.ask_each(requests)
        return int(last or 0) >= number


async def erase(store: Store, _owner: str, entry: str) -> None:
    """Delete all facts that an entry of the index names (``bot.store.Erase``)."""
    place, _, person = entry.rpartition(" ")
    await store.scripts.ask("DEL", _key(place, person))


def _key(place: str, person: str) -> str:
    return f"{Keys(place).of(KIND)}:{person}"
