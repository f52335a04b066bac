"""What a turn should know before it begins: who speaks, what was said before, which files a mention left out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from bot.channels import InboundEvent
from bot.channels.slack.api import Api
from bot.channels.slack.earlier import read_thread, retold, speakers
from bot.channels.slack.events import images
from bot.channels.slack.identity import Identity
from bot.channels.slack.people import People
from bot.channels.slack.types import Address, Posted, read_address
from bot.channels.slack.words import mentioned, named
from bot.errors import DeliverLater
from bot.safe_text.names import safe_name
from bot.transcript import Author, Media, Message, Part, Text


class Preparing:
    """Fills in what Slack tells only when asked; what it does not tell in time is left out.

    Args:
        patience_s: for the thread, and again for the people.
    """

    def __init__(self, api: Api, people: People, identity: Identity, patience_s: float) -> None:
        self._patience_s = patience_s
        self._api = api
        self._people = people
        self._identity = identity

    async def enrich(self, conversation: str, arrivals: Sequence[InboundEvent], *, is_new: bool) -> list[InboundEvent]:
        """The arrivals with names, zones and files, behind what was said in their thread before."""
        team = conversation.split(":")[1]
        addresses = [read_address(arrival.address) for arrival in arrivals]
        messages = await self._thread(addresses, is_new=is_new)
        told = [_with_files(arrival, messages) for arrival in arrivals]
        ids = {_user(arrival) for arrival in arrivals} | {
            user for arrival in arrivals for user in mentioned(arrival.message.text)
        }
        first = addresses[0].ts
        before = [
            message for message in messages if is_new and (message.ts or "") < first and not self._is_ours(message)
        ]
        people = await self._known(team, ids | speakers(before) | _mentions(before))
        names = {user: name for user, person in people.items() if (name := safe_name(person.name))}
        introduced = [_introduced(arrival, people, names) for arrival in told]
        background = retold(before, names)
        return [_background(introduced[0], background), *introduced] if background else introduced

    async def _thread(self, addresses: Sequence[Address], *, is_new: bool) -> list[Posted]:
        """The messages up to the newest that is answered, where there is anything in them to learn."""
        newest = addresses[-1]
        called_in = is_new and newest.thread and addresses[0].ts != newest.thread and not newest.channel.startswith("D")
        if not newest.thread or not (called_in or any(address.partial for address in addresses)):
            return []
        try:
            async with asyncio.timeout(self._patience_s):
                return await read_thread(self._api, newest.channel, newest.thread, newest.ts)
        except (DeliverLater, TimeoutError):
            return []

    async def _known(self, team: str, ids: set[str]) -> dict[str, Author]:
        try:
            async with asyncio.timeout(self._patience_s):
                found = await asyncio.gather(*(self._people.find(team, user) for user in sorted(ids)))
        except TimeoutError:
            return {}
        return {person.id: person for person in found}

    def _is_ours(self, message: Posted) -> bool:
        is_delivery = message.metadata is not None and message.metadata.event_type == "kaiwa_delivery"
        return is_delivery or self._identity.is_ours(message.user, message.bot_id)


def _user(arrival: InboundEvent) -> str:
    return arrival.message.author.id if arrival.message.author else ""


def _mentions(messages: Sequence[Posted]) -> set[str]:
    return {user for message in messages for user in mentioned(message.text or "")}


def _with_files(arrival: InboundEvent, messages: Sequence[Posted]) -> InboundEvent:
    """A mention with the images that only the message itself names."""
    address = read_address(arrival.address)
    message = arrival.message
    if not address.partial or any(isinstance(part, Media) for part in message.parts):
        return arrival
    files = next((posted.files for posted in messages if posted.ts == address.ts), None) or []
    return replace(arrival, message=replace(message, parts=(*message.parts, *images(files))))


def _introduced(arrival: InboundEvent, people: dict[str, Author], names: dict[str, str]) -> InboundEvent:
    message = arrival.message
    parts = tuple(_named(part, names) for part in message.parts)
    author = people.get(_user(arrival), message.author)
    return replace(arrival, message=replace(message, parts=parts, author=author))


def _named(part: Part, names: dict[str, str]) -> Part:
    return Text(named(part.text, names)) if isinstance(part, Text) else part


def _background(first: InboundEvent, text: str) -> InboundEvent:
    message = Message(f"{first.message.id}:earlier", "user", (Text(text),), first.message.at)
    return InboundEvent(message, first.address, first.group)
