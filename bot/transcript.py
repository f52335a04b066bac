"""The transcript of a conversation: what is stored is what is sent.

A transcript is one linear list of messages. Vendors' own data (thought signatures, unknown parts)
rides along in
``Message.opaque``, untouched.
"""

from __future__ import annotations

import uuid
from collections.abc import Container, Iterable, Sequence
from operator import add
from typing import Any, Literal

from msgspec import DecodeError, Struct
from msgspec.json import Decoder, Encoder
from msgspec.structs import astuple, replace

from toolset.shown import Card

MOST_CARDS = 3  # of one answer

Role = Literal["user", "model", "tool"]


class Text(Struct, frozen=True, tag="text"):
    """Text, as the user or the model wrote it."""

    text: str


class Media(Struct, frozen=True, tag="media", omit_defaults=True):
    """A reference to a file on the platform, fetched for each turn.

    Attributes:
        ref: the platform's id of the content.
        size: bytes, 0 where the platform does not say.
        data: the content, only in a request; never stored.
        name: of the file, safe to show; empty where it has none, as pictures and voice messages in
            LINE.
        uri: of the content at the model's vendor, in place of ``data``; never stored.
    """

    ref: str
    mime: str
    size: int = 0
    data: bytes = b""
    name: str = ""
    uri: str = ""


class ToolCall(Struct, frozen=True, tag="call", omit_defaults=True):
    """A call of a tool. ``id`` is unique; Kaiwa makes one if the provider gives none.

    Attributes:
        arguments: as the tool gets them.
        reason: the model's words, why it wants a high-risk call; may be empty.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    reason: str = ""

    @property
    def written(self) -> dict[str, Any]:
        """The arguments as a model writes them, with the reason where it gave one."""
        return {**self.arguments, "reason": self.reason} if self.reason else self.arguments


class FileRef(Struct, frozen=True, omit_defaults=True):
    """A file of a tool call, which the store keeps for a day.

    Attributes:
        id: in the store; empty if the file was not stored, and only its text is left.
        name: with its extension.
        size: bytes.
        text: the content in words, where the file cannot be shown.
    """

    id: str
    name: str
    mime: str
    text: str
    size: int = 0


class ToolResult(Struct, frozen=True, tag="result", omit_defaults=True):
    """The one result every call gets: ``response`` is the tool's object, or ``{"error": "…"}``.

    Attributes:
        files: shown with the answer, as the card and the choices are; the model gets none of these.
    """

    call_id: str
    name: str
    response: dict[str, Any]
    is_error: bool = False
    is_rejected: bool = False
    files: tuple[FileRef, ...] = ()
    card: Card | None = None
    choices: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """``rejected``, ``error`` or ``ok``."""
        return "rejected" if self.is_rejected else "error" if self.is_error else "ok"


Part = Text | Media | ToolCall | ToolResult


class Author(Struct, frozen=True, omit_defaults=True):
    """Who wrote a message; fields that the platform does not tell are empty.

    Attributes:
        locale: BCP 47 tag (``ja``, ``en-US``).
        time_zone: IANA name.
    """

    id: str = ""
    name: str = ""
    locale: str = ""
    time_zone: str = ""


class Opaque(Struct, frozen=True):
    """A provider's own form of a message, sent back verbatim to the same provider."""

    provider: str
    model: str
    data: bytes


class Quote(Struct, frozen=True, omit_defaults=True):
    """An earlier message that a message quotes. A quoted picture is among the parts of the message
    that quotes it.

    Attributes:
        id: of the quoted message.
        line: how the model reads it.
        author_id: the platform's id of its author; of an answer of ours, of the person who was
            answered.
    """

    id: str
    line: str
    author_id: str = ""


class Message(Struct, frozen=True, omit_defaults=True):
    """One entry of the transcript.

    Attributes:
        id: the platform's id; ours for model and tool messages.
        at: milliseconds since the epoch, UTC.
        context: a line with date, channel and author, which the model reads before the text.
        footer: Markdown that people read below the text, and the model does not.
        quotes: what it quotes, which the model reads after the context.
        edited_at: time of the edit whose words it has, milliseconds since the epoch; 0 if it was
            not edited.
    """

    id: str
    role: Role
    parts: tuple[Part, ...]
    at: int
    author: Author | None = None
    opaque: Opaque | None = None
    context: str = ""
    footer: str = ""
    quotes: tuple[Quote, ...] = ()
    edited_at: int = 0

    @property
    def preface(self) -> str:
        """What the model reads before the text: the context, then a line for each quote."""
        return "\n".join(filter(None, (self.context, *(quote.line for quote in self.quotes))))

    @property
    def quoted_pictures(self) -> tuple[Media, ...]:
        """The pictures among the parts that others' messages hold."""
        ids = {quote.id for quote in self.quotes}
        return tuple(part for part in self.parts if isinstance(part, Media) and part.ref in ids)

    @property
    def text(self) -> str:
        """All text of the message, without calls, results and media."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def is_scheduled(self) -> bool:
        """Whether it came at its time, in its author's name; the model may have written it."""
        return self.role == "user" and self.id.startswith(SCHEDULED_ID)

    @property
    def is_note(self) -> bool:
        """Whether it is in a request only, such as a summary: nobody has written it to the bot."""
        return self.id.startswith(NOTE_ID)

    @property
    def is_answer(self) -> bool:
        """Whether this is the model's answer: a model message without calls."""
        return self.role == "model" and not self.calls

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in the order the model gave them."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results, in call order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens of one model request, or of several added up."""

    input: int = 0
    cached: int = 0
    output: int = 0
    thinking: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))

    @property
    def total(self) -> int:
        """All of them; ``input`` includes ``cached``."""
        return self.input + self.output + self.thinking


class Source(Struct, frozen=True):
    """A page that an answer rests on; title and address are the vendor's, unchecked."""

    title: str
    url: str


class Grounding(Struct, frozen=True, omit_defaults=True):
    """What the vendor's own search has added to a response, or to several added up.

    Attributes:
        queries: of searches that the vendor wants to be linked, each once.
    """

    sources: tuple[Source, ...] = ()
    queries: tuple[str, ...] = ()

    def __add__(self, other: Grounding) -> Grounding:
        return Grounding(
            tuple(dict.fromkeys((*self.sources, *other.sources))),
            tuple(dict.fromkeys((*self.queries, *other.queries))),
        )


NOT_GROUNDED = Grounding()


class Spending(Struct, frozen=True):
    """What one model response has used.

    Attributes:
        asker: the person it answers.
        messages: user messages since the turn's previous response.
        is_first: it is the first response of its turn.
        searches: of the vendor's own search.
        refusal: see ``ModelResponse``.
        persona: the digest of the one that the model had.
    """

    model: str
    usage: Usage
    asker: Author
    messages: int
    is_first: bool
    searches: int = 0
    refusal: str = ""
    persona: str = ""


class TurnRecord(Struct, frozen=True):
    """One turn in the history."""

    turn_id: str
    at: int
    model: str
    messages: tuple[Message, ...]


class Summary(Struct, frozen=True):
    """A summary of older turns.

    Attributes:
        through: id of the last turn in it.
        model: the model that wrote it.
    """

    through: str
    at: int
    model: str
    text: str


SCHEDULED_ID = "scheduled_"  # the beginning of the ids of messages that come at their time
NOTE_ID = "note_"  # … of messages that are in a request only
SUMMARY_ID = f"{NOTE_ID}summary"


def without_quotes(message: Message, ids: Container[str]) -> Message:
    """The message without what it quotes of these messages; a picture's reference is its message's
    id."""
    if not any(quote.id in ids for quote in message.quotes):
        return message
    gone = {picture for picture in message.quoted_pictures if picture.ref in ids}
    quotes = tuple(quote for quote in message.quotes if quote.id not in ids)
    return replace(
        message, quotes=quotes, parts=tuple(part for part in message.parts if part not in gone)
    )


def cards_of(results: Iterable[ToolResult]) -> tuple[Card, ...]:
    """The cards of an answer: the newest of each title, and no more than an answer has."""
    newest = {result.card.title: result.card for result in results if result.card}
    return tuple(newest.values())[-MOST_CARDS:]


def choices_of(results: Sequence[ToolResult]) -> tuple[str, ...]:
    """The choices of an answer: those offered last."""
    return next((result.choices for result in reversed(results) if result.choices), ())


def new_id(prefix: str) -> str:
    """A fresh id, ``prefix_`` and 32 hexadecimal digits."""
    return f"{prefix}_{uuid.uuid4().hex}"


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: it has only blanks, line breaks and invisible characters."""
    return not any(letter.isprintable() and not letter.isspace() for letter in text)


def channel_of(conversation: str) -> str:
    """The channel's name, which is the first part of a conversation's id: a platform, as ``line``,
    or one of several accounts there, as ``line@shop``. A person is a channel and the platform's id,
    so that a person of one account is nobody in another."""
    return conversation.partition(":")[0]


def platform_of(conversation: str) -> str:
    """The platform on which a conversation is held."""
    return channel_of(conversation).partition("@")[0]


def channel_named(platform: str, account: str) -> str:
    """The name of a channel; the account is empty for the only one."""
    return f"{platform}@{account}" if account else platform


def account_of(conversation: str) -> str:
    """The account of its platform in which a conversation is held; empty for the only one."""
    return channel_of(conversation).partition("@")[2]


# What msgspec raises for bytes that it cannot decode.
UNREADABLE = (DecodeError, UnicodeDecodeError)

encode = Encoder().encode
decode_record = Decoder(TurnRecord).decode
decode_summary = Decoder(Summary).decode
