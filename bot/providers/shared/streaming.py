"""From the bytes of a response to the events of an answer, in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing
from typing import TypeVar

from bot.providers.shared.entry import USUAL, Options

STREAM_CAP = 16 * 1024 * 1024  # bytes of one response: a hundred times the longest answer, thoughts included


class StreamTooLong(Exception):
    """A response has more bytes than anybody needs; what follows is not read."""


async def events_of(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The data of each server-sent event; comments, which keep a connection alive, are left out.

    A body that is plain JSON comes as one event: an error some servers send without the form.

    Raises:
        StreamTooLong: it has no end.
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
    """The lines, without their line feeds.

    Raises:
        StreamTooLong: it has no end.
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


T = TypeVar("T")


async def with_timeouts(
    events: AsyncGenerator[T], first_token_timeout_s: float, options: Options = USUAL
) -> AsyncGenerator[T]:
    """The events of one answer, from the moment they are asked for; the connection is opened inside.

    Args:
        first_token_timeout_s: what is left for the first event, where that is less than the option.

    Raises:
        TimeoutError: the first event or the end did not come in time.
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
