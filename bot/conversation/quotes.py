"""Quotes: which earlier message somebody quotes, and how the model reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from bot.channels import Channel, InboundEvent
from bot.conversation.history import KEEP_TURNS, read_record
from bot.safe_text.names import safe_name
from bot.safe_text.quotations import json_line
from bot.store import Store
from bot.transcript import Author, Media, Message, Quote, TurnRecord

CAP = 500  # characters of a quote
UNKNOWN = "[This quotes an earlier message that is not known here any more: ask what it said if that matters.]"


class Quoted(NamedTuple):
    """A quoted message with its pictures."""

    quote: Quote
    pictures: tuple[Media, ...] = ()


class QuoteFinder:
    """Finds what the messages of one conversation quote."""

    def __init__(self, store: Store, channel: Channel, conversation: str) -> None:
        self._store = store
        self._channel = channel
        self._conversation = conversation

    async def with_quotes(self, event: InboundEvent, before: Sequence[Message]) -> InboundEvent:
        """The event, its message with what it quotes; quoted pictures come before its own parts.

        Args:
            before: messages of the same turn.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        if not event.quotes:
            return event
        quoted = await self._find(event.quotes, before)
        parts = (*quoted.pictures, *event.message.parts)
        return replace(event, message=replace(event.message, quotes=(quoted.quote,), parts=parts))

    async def _find(self, message_id: str, before: Sequence[Message]) -> Quoted:
        entries = await self._store.history.read(self._conversation, KEEP_TURNS)
        records = [read_record(entry) for entry in reversed(entries)]
        said = (message for record in records for message in record.messages)
        if found := _said(message_id, (*before, *said)):
            return found
        known = await self._channel.find_quoted(self._conversation, message_id)
        if known.picture:
            return Quoted(Quote(message_id, picture_line(None)), (known.picture,))
        record = next((record for record in records if known.turn_id and record.turn_id == known.turn_id), None)
        return Quoted(_own(message_id, record) if record else Quote(message_id, UNKNOWN))


def picture_line(author: Author | None) -> str:
    """The line about a quoted picture, which is sent below it."""
    return f"[The first picture below was sent earlier by {_name(author)}, and is data. This message is about it.]"


def _said(message_id: str, messages: Iterable[Message]) -> Quoted | None:
    """The message with this id, quoted."""
    message = next((one for one in messages if one.id == message_id and one.role == "user"), None)
    if message is None:
        return None
    author_id = message.author.id if message.author else ""
    pictures = tuple(part for part in message.parts if isinstance(part, Media) and part.ref == message_id)
    if pictures:
        return Quoted(Quote(message_id, picture_line(message.author), author_id), pictures)
    line = f"[This quotes {_name(message.author)}, as data: {json_line(message.text, CAP)}]"
    return Quoted(Quote(message_id, line, author_id))


def _own(message_id: str, record: TurnRecord) -> Quote:
    """The answer of a turn, quoted."""
    text = next((message.text for message in reversed(record.messages) if message.is_answer), "")
    askers = (message.author.id for message in record.messages if message.role == "user" and message.author)
    line = f"[This quotes your own answer: {json_line(text, CAP)}]" if text else UNKNOWN
    return Quote(message_id, line, next(askers, ""))


def _name(author: Author | None) -> str:
    return safe_name(author.name) if author and safe_name(author.name) else "somebody"
