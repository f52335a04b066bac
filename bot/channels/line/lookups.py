"""Lookups in LINE's API: people's names and languages."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels import InboundEvent, KeyValue
from bot.channels.line.client import Client, Failure
from bot.channels.line.types import Chat, Person, chat_of
from bot.errors import StoreUnavailable
from bot.transcript import Author, encode

log = structlog.stdlib.get_logger(__name__)

DAY_S = 86_400
UNKNOWN_S = 3_600  # before an unknown user is looked up again
LOOKUP_TIMEOUT_S = 3.0

NOBODY = Person()
_decode = Decoder(Person).decode


def _with_author(arrival: InboundEvent, people: dict[str, Person]) -> InboundEvent:
    author = arrival.message.author
    if author is None:
        return arrival
    person = people.get(author.id, NOBODY)
    known = Author(
        author.id, person.name or author.name, person.language or author.locale, author.time_zone
    )
    return replace(arrival, message=replace(arrival.message, author=known))


class People:
    """Looks users up. An unknown user is a person without a name."""

    def __init__(self, client: Client, kv: KeyValue) -> None:
        self._client = client
        self._kv = kv

    def prefetch(self, chat: Chat, user: str) -> None:
        """Read the stored profile of a user."""
        self._kv.prefetch(_key(chat, user))

    async def enrich(
        self, conversation: str, arrivals: Sequence[InboundEvent]
    ) -> list[InboundEvent]:
        """The events with names and languages. What does not arrive in time is left out."""
        chat = chat_of(conversation)
        wanted = {arrival.author_id for arrival in arrivals if arrival.author_id}
        found = await asyncio.gather(*(self._look_up(chat, user) for user in wanted))
        people = dict(zip(wanted, found, strict=True))
        return [_with_author(arrival, people) for arrival in arrivals]

    async def _look_up(self, chat: Chat, user: str) -> Person:
        key = _key(chat, user)
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_S):
                if (known := await self._kv.get(key)) is not None:
                    return _decode(known)
                try:
                    person, keep_s = await self._client.get_person(chat, user), DAY_S
                except Failure as failure:
                    log.info("line.profile_unknown", cause=str(failure))
                    person, keep_s = NOBODY, UNKNOWN_S
                self._kv.set_later(key, encode(person), keep_s)
                return person
        except (TimeoutError, StoreUnavailable):
            return NOBODY


def _key(chat: Chat, user: str) -> str:
    """A name by which the value goes when the person is forgotten."""
    return f"{'member' if chat.is_group else 'profile'}:line:{user}"
