"""Who speaks: names and languages from LINE's profiles, kept for a day."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import structlog
from msgspec.json import Decoder

from bot.channels.kv import KeyValue
from bot.channels.line.address import Place
from bot.channels.line.failure import Failure
from bot.channels.line.lazy import LazyApi
from bot.channels.line.profile import Person
from bot.errors import StoreUnavailable
from bot.transcript import encode

log = structlog.stdlib.get_logger(__name__)

DAY_S = 86_400
HOUR_S = 3_600  # for somebody whose profile cannot be seen
LOOK_UP_S = 3.0


_decode = Decoder(Person).decode
NOBODY = Person()


class People:
    """Looks people up."""

    def __init__(self, api: LazyApi, notes: KeyValue) -> None:
        self._api = api
        self._notes = notes

    async def of(self, place: Place, users: Iterable[str]) -> dict[str, Person]:
        """Everybody's profile, by user id; empty where it cannot be had in time. Never raises."""
        wanted = sorted(set(users))
        found = await asyncio.gather(*(self._person(place, user) for user in wanted))
        return dict(zip(wanted, found, strict=True))

    async def _person(self, place: Place, user: str) -> Person:
        # The id is part of the name, so that the note goes when the person is forgotten.
        name = f"line:person:{place.kind}:{user}"
        try:
            async with asyncio.timeout(LOOK_UP_S):
                if (known := await self._notes.get(name)) is not None:
                    return _decode(known)
                person, keep_s = await self._asked(place, user)
                await self._notes.set(name, encode(person), keep_s)
                return person
        except (TimeoutError, StoreUnavailable):
            return NOBODY

    async def _asked(self, place: Place, user: str) -> tuple[Person, int]:
        api = await self._api()
        try:
            return await api.person(place, user), DAY_S
        except Failure as failure:
            log.info("line.profile_unknown", cause=str(failure))
            return NOBODY, HOUR_S
