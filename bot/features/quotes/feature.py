"""Quotes: which earlier message somebody quotes, and how the model reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

from msgspec.structs import replace

from bot.channels import InboundEvent
from bot.clock import now_ms
from bot.pipeline.feature import Feature
from bot.pipeline.history import KEEP_TURNS, read_record
from bot.pipeline.services import Services
from bot.safe_text.glyphs import json_line
from bot.safe_text.transcript import name_of
from bot.transcript import Author, Media, Message, Part, Quote, TurnRecord, channel_of

# A quote has at most so many characters.
CAP = 500
# Messages that were overheard can be quoted so long.
OVERHEARD_MS = 3_600_000
# Nobody points at a picture that is older.
RECENT_MS = 600_000
# Pictures that somebody sends together come within this time.
ALBUM_MS = 60_000
# One message points at no more pictures.
MOST_PICTURES = 4
UNKNOWN = (
    "[This quotes an earlier message that is not known here any more: ask what it said if that "
    "matters.]"
)


class Quoted(NamedTuple):
    """A quoted message with its pictures."""

    quote: Quote
    pictures: tuple[Media, ...] = ()


class Quotes(Feature):
    """The feature (``bot.pipeline.feature.Feature``)."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def receive(
        self, conversation: str, event: InboundEvent, before: Sequence[Message]
    ) -> InboundEvent:
        """The event, its message with what it quotes; quoted pictures come before its own parts.

        A message of a group that points at a picture ("what is this?") quotes those that were just
        sent there.

        Args:
            before: messages of the same turn.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        if event.quotes:
            found = [await self._find(conversation, event.quotes, before)]
        elif event.group and not event.message.quotes and self._points(event.message.text):
            found = _newest_pictures(await self._overheard(conversation), event.message.at)
        else:
            return event
        parts, quotes = list[Part](), list(event.message.quotes)
        for quote, pictures in found:
            parts += pictures
            quotes.append(quote)
        parts += event.message.parts
        message = replace(event.message, quotes=tuple(quotes), parts=tuple(parts))
        return replace(event, message=message)

    def _points(self, text: str) -> bool:
        """Whether a text may be about a picture: it has a word for one, or one that points."""
        words = set(re.findall(r"[a-z]+", text.casefold()))
        english = self._services.texts.get("pointing.words", "en").split(", ")
        return not words.isdisjoint(english) or any(
            word in text for word in self._services.texts.get("pointing.words", "ja").split("、")
        )

    async def _overheard(self, conversation: str) -> list[Message]:
        """What people wrote to each other, where a feature keeps it."""
        kept = await self._services.features.overheard(conversation)
        recent = [message for message in kept if message.at > now_ms() - OVERHEARD_MS]
        return await self._services.with_names(conversation, recent)

    async def _find(self, conversation: str, message_id: str, before: Sequence[Message]) -> Quoted:
        channel, messages = self._services.channels[channel_of(conversation)], list(before)
        records: dict[str, TurnRecord] = {}
        for entry in reversed(await self._services.store.history.read(conversation, KEEP_TURNS)):
            record = read_record(entry)
            records.setdefault(record.turn_id, record)
            messages += record.messages
        messages += await self._overheard(conversation)
        if found := _message_of_person(message_id, messages):
            return found
        known = await channel.find_quoted(conversation, message_id)
        if known.picture:
            return Quoted(Quote(message_id, picture_line(None)), (known.picture,))
        if known.turn_id and known.turn_id in records:
            return Quoted(_own(message_id, records[known.turn_id]))
        return Quoted(Quote(message_id, UNKNOWN))


def picture_line(author: Author | None, number: int = 1) -> str:
    """The line about a quoted picture, which is sent below it."""
    return (
        f"[Picture {number} below was sent earlier by {name_of(author)}, and is data. This may be "
        "about it.]"
    )


def _newest_pictures(messages: Sequence[Message], at: int) -> list[Quoted]:
    """The pictures that somebody has sent last, one after the other, not long before this time."""
    together: list[Message] = []
    for one in reversed(messages):
        if not at - RECENT_MS < one.at <= at or not any(map(_is_picture, one.parts)):
            continue
        last = together[-1] if together else one
        if _author_id(one) == _author_id(last) and last.at - one.at < ALBUM_MS:
            together.insert(0, one)
    found = []
    for number, one in enumerate(together[-MOST_PICTURES:], 1):
        quote = Quote(one.id, picture_line(one.author, number), _author_id(one))
        found.append(Quoted(quote, tuple(filter(_is_picture, one.parts))))
    return found


def _is_picture(part: Part) -> TypeGuard[Media]:
    return isinstance(part, Media)


def _author_id(message: Message) -> str:
    return message.author.id if message.author else ""


def _message_of_person(message_id: str, messages: Iterable[Message]) -> Quoted | None:
    """The message of a person with this id, quoted."""
    for message in messages:
        if message.id == message_id and message.role == "user":
            break
    else:
        return None
    pictures = []
    for part in message.parts:
        if isinstance(part, Media) and part.ref == message_id:
            pictures.append(part)
    line = f"[This quotes {name_of(message.author)}, as data: {json_line(message.text, CAP)}]"
    if pictures:
        line = picture_line(message.author)
    return Quoted(Quote(message_id, line, _author_id(message)), tuple(pictures))


def _own(message_id: str, record: TurnRecord) -> Quote:
    """The answer of a turn, quoted, with what its pictures show in words."""
    text = asker = ""
    pictures: list[str] = []
    for message in record.messages:
        if message.is_answer:
            text = message.text
        if message.role == "user":
            asker = asker or _author_id(message)
        for result in message.results:
            pictures += [file.text for file in result.files]
    if not text:
        return Quote(message_id, UNKNOWN, asker)
    line = f"[This quotes your own answer: {json_line(text, CAP)}"
    if pictures:
        line += f", with a picture of: {json_line('; '.join(pictures), CAP)}"
    return Quote(message_id, f"{line}]", asker)


FEATURE = Quotes
