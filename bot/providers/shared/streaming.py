"""From the bytes of a response to the events of an answer, in time and within limits of size.

The bytes are read past the SDKs: their own models take most of a request's CPU time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, Iterator, Sequence
from contextlib import AbstractContextManager, aclosing
from typing import Protocol, TypeVar

from msgspec.structs import replace

from bot.file_types import MIB, kind_of
from bot.providers import (
    TOKEN_BYTES,
    Completed,
    ModelResponse,
    Restarted,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    show_response,
)
from bot.providers.retry_policy import FIRST_TOKEN_PER_MIB_S
from bot.providers.shared.entry import USUAL, Options
from bot.telemetry.observed import OBSERVER
from bot.transcript import SUMMARY_ID, Media, Message, Text, Usage, encode, new_id

# A response has so many bytes at most: a hundred times the longest answer, thoughts included.
STREAM_CAP = 16 * 1024 * 1024

T = TypeVar("T")


class StreamTooLong(Exception):
    """A response has more than ``STREAM_CAP`` bytes; the rest is not read."""


class Answer(Protocol):
    """One answer while it is read; the ``response.py`` of every vendor has one."""

    def take(self, data: bytes) -> Iterator[TextDelta | ToolCallDelta]:
        """Read one event and yield what it adds to the answer."""
        ...

    def response(self) -> ModelResponse:
        """The whole answer, once the stream has ended."""
        ...


async def stream_answer(
    data: AsyncGenerator[bytes],
    answer: Answer,
    translating: AbstractContextManager[None],
    first_token_timeout_s: float,
    options: Options,
) -> AsyncGenerator[StreamEvent]:
    """The events of one answer.

    Args:
        data: the vendor's events; its first step sends the request.
        translating: turns the vendor's exceptions into ``ModelError``.

    Raises:
        ModelError: no answer, or an answer that broke off.
    """
    observe, read = OBSERVER.get(), list[bytes]()
    with translating:
        async with aclosing(with_timeouts(data, first_token_timeout_s, options)) as events:
            async for event in events:
                if observe:
                    read.append(event)
                for delta in answer.take(event):
                    yield delta
    response = answer.response()
    if observe:
        show_response(response, read)
    yield Completed(response)


async def with_timeouts(
    events: AsyncGenerator[T], first_token_timeout_s: float, options: Options = USUAL
) -> AsyncGenerator[T]:
    """The same events within two time limits: one for the first event, one for the whole answer.

    Args:
        first_token_timeout_s: seconds; the option of that name applies where it is shorter.

    Raises:
        TimeoutError: the first event or the end came too late.
    """
    now = asyncio.get_running_loop().time
    started = now()
    deadline = started + min(first_token_timeout_s, options.first_token_timeout_s)
    async with aclosing(events):
        while True:
            async with asyncio.timeout_at(deadline):
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
            yield event
            deadline = started + options.request_timeout_s


async def events_of(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The data of each server-sent event; comments, which keep a connection alive, are skipped.

    A body of plain JSON is one event: some servers send an error that way.

    Raises:
        StreamTooLong: the body has more than ``STREAM_CAP`` bytes.
    """
    block: list[bytes] = []
    async with aclosing(lines_of(pieces)) as lines:
        async for line in lines:
            if line not in (b"", b"\r"):
                block.append(line)
            elif block:
                if data := _data(block):
                    yield data
                block = []
    if block and (data := _data(block)):
        yield data


async def lines_of(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The lines without their line feeds. Each byte is read once, however the network cuts the
    stream.

    Raises:
        StreamTooLong: the body has more than ``STREAM_CAP`` bytes.
    """
    size = 0
    unfinished = bytearray()
    async for piece in pieces:
        size += len(piece)
        if size > STREAM_CAP:
            raise StreamTooLong
        *lines, rest = piece.split(b"\n")
        for line in lines:
            unfinished += line
            yield bytes(unfinished)
            unfinished.clear()
        unfinished += rest
    yield bytes(unfinished)


def _data(block: list[bytes]) -> bytes:
    if block[0].lstrip().startswith(b"{"):
        return b"\n".join(block)
    return b"\n".join(line[5:].strip() for line in block if line.startswith(b"data:"))


# Vendors count roughly so many for a picture.
MEDIA_TOKENS = 1_000
# So many bytes of a recording or a PDF count as a token: vendors count 32 tokens a second of sound,
# and 258 a page or a picture of a film.
MEDIA_BYTES = 1_000


def estimate_tokens(messages: Sequence[Message]) -> int:
    """The tokens of messages, rather too many than too few."""
    return sum(map(_tokens, messages))


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
        if _begins_turn(messages, place):
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


def _begins_turn(messages: Sequence[Message], place: int) -> bool:
    before = messages[place - 1]
    return messages[place].role == "user" and before.role == "model" and not before.calls


def _tokens(message: Message) -> int:
    tokens = 0
    others = []
    for part in message.parts:
        if isinstance(part, Media):
            tokens += _media_tokens(part)
        else:
            others.append(part)
    words = replace(message, parts=tuple(others), footer="")
    return len(encode(words)) // TOKEN_BYTES + tokens


def _media_tokens(media: Media) -> int:
    if kind_of(media.mime) == "image":
        return MEDIA_TOKENS
    return max(MEDIA_TOKENS, media.size // MEDIA_BYTES)


# An answer has so many characters at most: eight messages in Slack.
TEXT_CAP = 100_000
# All calls of an answer have so many characters together at most: twice the largest file that a
# tool writes.
CALLS_CAP = 1024 * 1024
# Every call counts so many characters more, however short it is.
CALL_COSTS = 1_000


async def cap_answer(
    events: AsyncGenerator[StreamEvent], model: str, asked: Sequence[Message], most: int = TEXT_CAP
) -> AsyncGenerator[StreamEvent]:
    """The events of one answer; an answer beyond the cap ends there, as if the model had used up
    its tokens.

    A capped answer keeps no calls, and its usage is estimated, as vendors count at the end.

    Args:
        asked: the messages of the request.
        most: characters of the text.
    """
    words: list[str] = []
    left, left_for_calls = most, CALLS_CAP
    async with aclosing(events):
        try:
            async for event in events:
                match event:
                    case TextDelta(text):
                        words.append(text[:left])
                        left -= len(text)
                    case ToolCallDelta(_, call_id, name, arguments):
                        left_for_calls -= len(name) + len(arguments)
                        if call_id:
                            left_for_calls -= CALL_COSTS
                    case Restarted():
                        words, left, left_for_calls = [], most, CALLS_CAP
                if left_for_calls < 0:
                    break
                if left < 0:
                    if words[-1]:
                        yield TextDelta(words[-1])
                    break
                yield event
            else:
                return
        except StreamTooLong:
            pass
    yield Completed(_cut("".join(words), model, asked))


def _cut(text: str, model: str, asked: Sequence[Message]) -> ModelResponse:
    parts = (Text(text),) if text else ()
    message = Message(new_id("msg"), "model", parts, time.time_ns() // 1_000_000)
    usage = Usage(
        input=estimate_tokens(asked), output=len(text.encode(errors="replace")) // TOKEN_BYTES
    )
    return ModelResponse(message, "max_tokens", usage, model, "longer than anybody reads")
