"""What the requests of several vendors share: portable ids and names, the visible parts of a
message, their size, tools, media, a vendor's own tools."""

from __future__ import annotations

import math
import re
import secrets
import time
from binascii import b2a_base64
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from hashlib import sha256
from typing import TypeVar

import structlog
from msgspec.structs import replace

from bot.file_types import MIB, PDF, kind_of, label
from bot.providers import TOKEN_BYTES, wrap_result
from bot.providers.retry_policy import FIRST_TOKEN_PER_MIB_S
from bot.telemetry.observed import OBSERVER, RequestSent
from bot.transcript import (
    SUMMARY_ID,
    Grounding,
    Media,
    Message,
    Part,
    Source,
    Text,
    ToolResult,
    encode,
)
from toolset.tool import ToolDefinition

# This joins OpenAI's length and Anthropic's letters.
ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
NAME_CAP = 64
# Vendors answer 400 to others, such as image/heic.
IMAGES = {
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/webp",
}
# The number of bytes is a multiple of three, so that the base64 of the pieces joins.
PIECE = 48 * 1024

Inline = Callable[[bytes], str]
T = TypeVar("T")


def portable_id(call_id: str) -> str:
    """The id where every vendor takes it, else a short id that is always the same for it."""
    if ID.fullmatch(call_id):
        return call_id
    return f"call_{sha256(call_id.encode()).hexdigest()[:32]}"


def portable_name(name: str) -> str:
    """A tool's name as every vendor takes it: a name that a model made up would fail every later
    request."""
    return FOREIGN.sub("_", name)[:NAME_CAP] or "_"


def own_opaque(message: Message, provider: str, model: str) -> bytes:
    """The opaque data of a message that this model wrote, for no other; empty without."""
    opaque = message.opaque
    if opaque is None or (opaque.provider, opaque.model) != (provider, model):
        return b""
    return opaque.data


def result_text(result: ToolResult) -> str:
    """A tool's result as a text."""
    return encode(wrap_result(result)).decode()


def visible_parts(
    message: Message,
    *,
    sees_pictures: bool = True,
    picture_cap: float = math.inf,
    reads_pdfs: bool = False,
) -> Iterator[Text | Media]:
    """The context, quotes, texts, pictures and PDFs of a user's message; a short text stands for
    any other media.

    Args:
        picture_cap: bytes of the largest picture that the vendor takes.
    """
    if message.preface:
        yield Text(message.preface)
    for part in message.parts:
        if isinstance(part, Text) and part.text:
            yield part
        elif isinstance(part, Media):
            is_seen = sees_pictures and part.mime in IMAGES and len(part.data) <= picture_cap
            is_read = part.data and (is_seen or (reads_pdfs and part.mime == PDF))
            yield part if is_read else unavailable(part)


def without_files(messages: Sequence[Message]) -> list[Message]:
    """The messages with a line in place of each file; nothing if they hold no file."""
    without = [replace(one, parts=tuple(map(_refused, one.parts))) for one in messages]
    return [] if without == list(messages) else without


def _refused(part: Part) -> Part:
    if not isinstance(part, Media) or not (part.data or part.uri):
        return part
    return Text(f"[{label(part.mime, part.name)}: the model's service did not take it; say so]")


def unavailable(media: Media) -> Text:
    """What a model reads in place of media that it does not get."""
    return Text(f"[{label(media.mime, media.name)}: not available]")


def remember_last(
    declare: Callable[[Sequence[ToolDefinition]], T],
) -> Callable[[Sequence[ToolDefinition]], T]:
    """The same function, computed once for the same tools: a channel sends them with every
    request."""
    last: tuple[Sequence[ToolDefinition], T] | None = None

    def declare_once(tools: Sequence[ToolDefinition]) -> T:
        nonlocal last
        if last is None or last[0] is not tools:
            last = (tools, declare(tools))
        return last[1]

    return declare_once


class Body:
    """The body of a request, encoded piece by piece while it is sent; it can be read again.

    Args:
        pieces: in turn JSON, and data that the body holds as base64.

    Attributes:
        size: bytes.
    """

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces
        json, data = pieces[::2], pieces[1::2]
        self.size = sum(map(len, json)) + sum(-(-len(one) // 3) * 4 for one in data)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for place, piece in enumerate(self._pieces):
            if place % 2 == 0:
                yield piece
                continue
            view = memoryview(piece)
            for start in range(0, len(piece), PIECE):
                yield b2a_base64(view[start : start + PIECE], newline=False)


class Attachments:
    """The media of one request to a model; their base64 is never in memory as a whole."""

    def __init__(self, model: str) -> None:
        self._model = model
        # No text of a user can hold the mark.
        self._mark = secrets.token_hex(16)
        self._held: dict[bytes, bytes] = {}

    def stand_in(self, data: bytes) -> str:
        """The mark that stands in the JSON for the base64 of these data; the same object has the
        same mark."""
        word = f"<{self._mark}-{id(data)}>"
        self._held[word.encode()] = data
        return word

    def body(self, json: bytes, cached: bytes = b"") -> bytes | Body:
        """The JSON with the data in place of their marks, which is sent next.

        Args:
            cached: see ``RequestSent``.
        """
        pieces = [json]
        if self._held:
            split = re.split(rb"(<%b-\d+>)" % self._mark.encode(), json)
            pieces = [self._held.get(piece, piece) for piece in split]
        if observe := OBSERVER.get():
            observe(RequestSent(self._model, tuple(pieces), cached))
        return json if len(pieces) == 1 else Body(pieces)


def length_of(body: bytes | Body) -> dict[str, str]:
    """The Content-Length header of a ``Body``: some servers refuse a request of unknown length."""
    if not isinstance(body, Body):
        return {}
    return {"content-length": str(body.size)}


log = structlog.stdlib.get_logger(__name__)

PAUSE_S = 3600.0
# An answer keeps so many pages and searches: more than anybody is shown.
MOST_FOUND = 50
# These are the most characters of a page's address, and of a title or a search.
LONGEST_ADDRESS, LONGEST_WORDS = 2_000, 300


def bounded(found: Grounding) -> Grounding:
    """What was found, without what is too much to keep."""
    pages = []
    for page in found.sources:
        if len(page.url) <= LONGEST_ADDRESS:
            pages.append(Source(page.title[:LONGEST_WORDS], page.url))
    queries = [query[:LONGEST_WORDS] for query in found.queries[:MOST_FOUND]]
    return Grounding(tuple(pages[:MOST_FOUND]), tuple(queries))


class ServerTools:
    """The vendor's own tools of one model.

    Args:
        clock: monotonic seconds.

    Attributes:
        names: of the tools that the model gets while none is refused.
    """

    def __init__(
        self, names: tuple[str, ...], model: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.names = names
        self._model = model
        self._clock = clock
        self._paused_until = -math.inf

    def offered(self) -> tuple[str, ...]:
        """Their names; none for an hour after a refusal."""
        return () if self._clock() < self._paused_until else self.names

    def answers(self, model: str) -> str:
        """The line of a model that was looked up."""
        own = ", ".join(self.names)
        return f"{model} answers, with {own}" if own else f"{model} answers"

    def pause(self, cause: str) -> str:
        """Leave the tools out for an hour; returns what the operator reads."""
        if self._clock() >= self._paused_until:
            log.warning(
                "model.server_tools_refused", model=self._model, tools=list(self.names), cause=cause
            )
        self._paused_until = self._clock() + PAUSE_S
        return f"{self._model}, {', '.join(self.names)}: {cause}"


# Vendors count roughly so many for a picture.
MEDIA_TOKENS = 1_000
# So many bytes of a recording or a PDF count as a token: vendors count 32 tokens a second of sound,
# and 258 a page or a picture of a film.
MEDIA_BYTES = 1_000


def estimate_tokens(messages: Sequence[Message]) -> int:
    """The tokens of messages, rather too many than too few."""
    tokens = 0
    for message in messages:
        others: list[Part] = []
        for part in message.parts:
            if not isinstance(part, Media):
                others.append(part)
            elif kind_of(part.mime) == "image":
                tokens += MEDIA_TOKENS
            else:
                tokens += max(MEDIA_TOKENS, part.size // MEDIA_BYTES)
        words = replace(message, parts=tuple(others), footer="")
        tokens += len(encode(words)) // TOKEN_BYTES
    return tokens


def patience_for(messages: Sequence[Message]) -> float:
    """The seconds more that a model may need for its first token, because of the files it is
    sent."""
    size = 0
    for message in messages:
        for part in message.parts:
            if not isinstance(part, Media) or kind_of(part.mime) == "image":
                continue
            if part.data or part.uri:
                size += part.size
    return size / MIB * FIRST_TOKEN_PER_MIB_S


def trim_oldest(messages: Sequence[Message], tokens: int) -> Sequence[Message]:
    """The newest turns that fit, always with the turn under way, and with the summary where it fits
    beside them.

    Turns are whole: a turn begins at a user's message after the model's last answer, so no call
    loses its result.
    """
    start = 1 if messages and messages[0].id == SUMMARY_ID else 0
    first, size = start, estimate_tokens(messages)
    for place in range(start + 1, len(messages)):
        if size <= tokens:
            break
        before = messages[place - 1]
        if messages[place].role == "user" and before.role == "model" and not before.calls:
            size -= estimate_tokens(messages[first:place])
            first = place
    # A summary that fills more than half was written for a model with a larger window.
    keeps_summary = (
        size <= tokens or estimate_tokens(messages[:start]) <= tokens // 2 or first == len(messages)
    )
    summary = messages[:start] if keeps_summary else ()
    if len(summary) == first:
        return messages
    return [*summary, *messages[first:]]
