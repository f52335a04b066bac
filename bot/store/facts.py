"""Facts that people want remembered: one hash for each person and place, from a fact's number to
its text."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from bot.store.belongings import Belongings
from bot.store.clients import Client, translate_errors
from bot.store.keys import (
    DAY_S,
    FACT_CHARACTERS,
    FACTS,
    FACTS_S,
    digest_of,
    facts_key,
    person_of,
)
from bot.store.queues import Prefetches, Read, ignore_failure
from bot.store.scripts import Scripts


class Fact(NamedTuple):
    """One fact; the number stays the same as long as the fact is kept."""

    number: int
    text: str


class PersonFacts:
    """Facts by place and person. They expire ``FACTS_S`` after they were last read or added to."""

    def __init__(
        self, client: Client, scripts: Scripts, belongings: Belongings, prefetches: Prefetches
    ) -> None:
        self._client = client
        self._scripts = scripts
        self._belongings = belongings
        self._prefetches = prefetches

    def prefetch(self, place: str, person: str) -> None:
        """Read with the process's next request; the next ``read`` within ``PREFETCHED_S`` takes
        it."""
        self._prefetches.begin(_read(facts_key(place, person)))

    async def read(self, place: str, person: str) -> list[Fact]:
        """A person's facts in a place, oldest first."""
        key = facts_key(place, person)
        async with translate_errors():
            (stored,) = await self._prefetches.take(_read(key))
        if stored:
            left = self._client.submit_later([("TTL", key)])
            left.add_done_callback(partial(self._renew, place, person))
        return _facts(stored)

    def _renew(self, place: str, person: str, left: asyncio.Future[list[Any]]) -> None:
        """Let facts live on, as reading them is their use; once a day."""
        if left.cancelled() or left.exception() or left.result()[0] > FACTS_S - DAY_S:
            return
        expiry = ("EXPIRE", facts_key(place, person), FACTS_S)
        self._client.submit_later([expiry]).add_done_callback(ignore_failure)
        for owner in (person_of(place, person), place):
            _ = self._belongings.add_later(owner, [_entry(place, person)], FACTS_S)

    async def remember(self, place: str, person: str, text: str) -> int:
        """Keep a fact, unless this text is kept already.

        Args:
            text: one line; ``FACT_CHARACTERS`` of it are kept.

        Returns:
            The fact's number; 0 where ``FACTS`` are kept already.
        """
        key, fact = facts_key(place, person), text[:FACT_CHARACTERS]
        self._prefetches.drop(_read(key))
        for owner in (person_of(place, person), place):
            await self._belongings.add(owner, _entry(place, person), FACTS_S)
        # The mark 0: a fact makes no room for another one.
        arguments = [FACTS_S, FACTS, "", f"{digest_of(fact)} 0 {fact}"]
        [number] = await self._scripts.call("write_items", [key], arguments)
        return int(number)

    async def forget(self, place: str, person: str, number: int) -> bool:
        """Delete a fact; False where no fact has had this number."""
        key = facts_key(place, person)
        self._prefetches.drop(_read(key))
        async with translate_errors():
            requests = [("HDEL", key, number), ("HGET", key, "last")]
            _, last = await self._client.execute_each(requests)
        return int(last or 0) >= number


def _entry(place: str, person: str) -> str:
    return f"facts {place} {person}"


def _read(key: str) -> Read:
    return (("HGETALL", key),)


def _facts(stored: Mapping[bytes, bytes]) -> list[Fact]:
    facts = [
        Fact(int(field), value.split(b" ", 2)[2].decode())
        for field, value in stored.items()
        if field != b"last"
    ]
    return sorted(facts)
