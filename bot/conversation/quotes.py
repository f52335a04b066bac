"""Quotes: which earlier message somebody quotes, and how the model reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

from msgspec.structs import replace

from bot.channels import Channel, InboundEvent
from bot.conversation.background import Background, name_of
from bot.conversation.history import KEEP_TURNS, read_record
from bot.conversation.services import Services
from bot.safe_text.quotations import json_line
from bot.transcript import Author, Media, Message, Part, Quote, ToolResult, TurnRecord

CAP = 500  # characters of a quote
RECENT_MS = 600_000  # a picture that is older is not pointed at
ALBUM_MS = 60_000  # between the pictures that somebody sends together
MOST_PICTURES = 4  # at which one message points
UNKNOWN = (
    "[This quotes an earlier message that is not known here any more: ask what it said if that "
    "matters.]"
)


class Quoted(NamedTuple):
    """A quoted message with its pictures."""

    quote: Quote
    pictures: tuple[Media, ...] = ()


class QuoteFinder:
    """Finds what the messages of one conversation quote."""

    def __init__(
        self, services: Services, channel: Channel, conversation: str, background: Background
    ) -> None:
        self._store = services.store
        self._texts = services.texts
        self._channel = channel
        self._conversation = conversation
        self._background = background

    async def with_quotes(self, event: InboundEvent, before: Sequence[Message]) -> InboundEvent:
        """The event, its message with what it quotes; quoted pictures come before its own parts.

        A message of a group that points at a picture ("what is this?") quotes those that were just
        sent there.

        Args:
            before: messages of the same turn.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        if event.quotes:
            found = [await self._find(event.quotes, before)]
        elif event.group and not event.message.quotes and self._points(event.message.text):
            found = _newest_pictures(await self._background.read(), event.message.at)
        else:
            return event
        parts = (*(picture for one in found for picture in one.pictures), *event.message.parts)
        quotes = (*event.message.quotes, *(one.quote for one in found))
        return replace(event, message=replace(event.message, quotes=quotes, parts=parts))

    def _points(self, text: str) -> bool:
        """Whether a text may be about a picture: it has a word for one, or one that points."""
        words = set(re.findall(r"[a-z]+", text.casefold()))
        english = self._texts.get("pointing.words", "en").split(", ")
        return not words.isdisjoint(english) or any(
            word in text for word in self._texts.get("pointing.words", "ja").split("、")
        )

    async def _find(self, message_id: str, before: Sequence[Message]) -> Quoted:
        entries = await self._store.history.read(self._conversation, KEEP_TURNS)
        records = [read_record(entry) for entry in reversed(entries)]
        said = (message for record in records for message in record.messages)
        if found := _said(message_id, (*before, *said, *await self._background.read())):
            return found
        known = await self._channel.find_quoted(self._conversation, message_id)
        if known.picture:
            return Quoted(Quote(message_id, picture_line(None)), (known.picture,))
        record = next(
            (record for record in records if known.turn_id and record.turn_id == known.turn_id),
            None,
        )
        return Quoted(_own(message_id, record) if record else Quote(message_id, UNKNOWN))


def picture_line(author: Author | None, number: int = 1) -> str:
    """The line about a quoted picture, which is sent below it."""
    return (
        f"[Picture {number} below was sent earlier by {name_of(author)}, and is data. This may be "
        "about it.]"
    )


def _newest_pictures(messages: Sequence[Message], at: int) -> list[Quoted]:
    """The pictures that somebody has sent last, one after the other, not long before this time."""
    sent = [
        one
        for one in messages
        if at - RECENT_MS < one.at <= at and any(map(_is_picture, one.parts))
    ]
    together = [
        one
        for one in sent
        if _author_id(one) == _author_id(sent[-1]) and sent[-1].at - one.at < ALBUM_MS
    ]
    return [
        Quoted(
            Quote(one.id, picture_line(one.author, number), _author_id(one)),
            tuple(filter(_is_picture, one.parts)),
        )
        for number, one in enumerate(together[-MOST_PICTURES:], 1)
    ]


def _is_picture(part: Part) -> TypeGuard[Media]:
    return isinstance(part, Media)


def _author_id(message: Message) -> str:
    return message.author.id if message.author else ""


def _said(message_id: str, messages: Iterable[Message]) -> Quoted | None:
    """The message with this id, quoted."""
    message = next((one for one in messages if one.id == message_id and one.role == "user"), None)
    if message is None:
        return None
    pictures = tuple(
        part for part in message.parts if isinstance(part, Media) and part.ref == message_id
    )
    if pictures:
        return Quoted(
            Quote(message_id, picture_line(message.author), _author_id(message)), pictures
        )
    line = f"[This quotes {name_of(message.author)}, as data: {json_line(message.text, CAP)}]"
    return Quoted(Quote(message_id, line, _author_id(message)))


def _own(message_id: str, record: TurnRecord) -> Quote:
    """The answer of a turn, quoted, with what its pictures show in words."""
    text = next((message.text for message in reversed(record.messages) if message.is_answer), "")
    askers = (
        message.author.id
        for message in record.messages
        if message.role == "user" and message.author
    )
    results = (
        part
        for message in record.messages
        for part in message.parts
        if isinstance(part, ToolResult)
    )
    pictures = "; ".join(file.text for result in results for file in result.files)
    below = f", with a picture of: {json_line(pictures, CAP)}" if pictures else ""
    line = f"[This quotes your own answer: {json_line(text, CAP)}{below}]" if text else UNKNOWN
    return Quote(message_id, line, next(askers, ""))
