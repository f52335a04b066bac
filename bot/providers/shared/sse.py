"""Streams read from the bytes of a response, past the SDKs, whose own models cost most of a request.

Whatever the pieces are that a network makes of a stream, each byte is looked at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing

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
