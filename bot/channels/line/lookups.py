"""What LINE tells only when asked: people's names and languages, and the images they send."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import structlog
from msgspec.json import Decoder

from bot.channels import Take
from bot.channels.kv import KeyValue
from bot.channels.line.client import Client, Failure
from bot.channels.line.types import Chat, Person
from bot.errors import StoreUnavailable
from bot.transcript import encode

log = structlog.stdlib.get_logger(__name__)

DAY_S = 86_400
HOUR_S = 3_600  # for somebody whose profile cannot be seen
LOOK_UP_S = 3.0
MAX_IMAGE = 10 * 1024 * 1024  # bytes; LINE takes no larger image
FETCH_S = 10.0  # all told
POLL_S = 0.5

NOBODY = Person()
_decode = Decoder(Person).decode


class People:
    """Looks people up; a profile is kept for a day."""

    def __init__(self, client: Client, kv: KeyValue) -> None:
        self._client = client
        self._kv = kv

    async def find(self, chat: Chat, users: Iterable[str]) -> dict[str, Person]:
        """Everybody's profile, by user id; empty where it cannot be had in time. Never raises."""
        wanted = sorted(set(users))
        found = await asyncio.gather(*(self._look_up(chat, user) for user in wanted))
        return dict(zip(wanted, found, strict=True))

    async def _look_up(self, chat: Chat, user: str) -> Person:
        # The id is part of the name, so that the entry goes when the person is forgotten.
        name = f"line:person:{chat.kind}:{user}"
        try:
            async with asyncio.timeout(LOOK_UP_S):
                if (known := await self._kv.get(name)) is not None:
                    return _decode(known)
                person, keep_s = await self._ask(chat, user)
                await self._kv.set(name, encode(person), keep_s)
                return person
        except (TimeoutError, StoreUnavailable):
            return NOBODY

    async def _ask(self, chat: Chat, user: str) -> tuple[Person, int]:
        try:
            return await self._client.person(chat, user), DAY_S
        except Failure as failure:
            log.info("line.profile_unknown", cause=str(failure))
            return NOBODY, HOUR_S


async def fetch_image(client: Client, message_id: str, take: Take) -> bool:
    """Hand over an image, waited for while LINE prepares it; False where not all of it can be had."""
    try:
        async with asyncio.timeout(FETCH_S):
            while (is_whole := await client.content(message_id, MAX_IMAGE, take)) is None:  # noqa: ASYNC110 -- LINE tells nobody
                await asyncio.sleep(POLL_S)
            return is_whole
    except (TimeoutError, Failure) as error:
        log.info("media.not_fetched", cause=str(error) or "not in time")
        return False
