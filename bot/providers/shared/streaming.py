"""From the bytes of a response to the events of an answer, in time.

The bytes are read past the SDKs: their own models take most of a request's CPU time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Iterator
from contextlib import AbstractContextManager, aclosing
from typing import Protocol, TypeVar

from bot.providers import Completed, ModelResponse, StreamEvent, TextDelta, ToolCallDelta
from bot.providers.shared.entry import USUAL, Options

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
    with translating:
        async with aclosing(with_timeouts(data, first_token_timeout_s, options)) as events:
            async for event in events:
                for delta in answer.take(event):
                    yield delta
    yield Completed(answer.response())


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
