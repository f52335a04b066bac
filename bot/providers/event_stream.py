"""Server-sent events read from the bytes of a response, past the SDKs, whose own models cost most of a request."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterable

BLANK_LINE = re.compile(rb"\r?\n\r?\n")


async def events_of(pieces: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    """The data of each event; comments, which keep a connection alive, are left out.

    A body that is plain JSON comes as one event: an error some servers send without the form.
    """
    rest = b""
    async for piece in pieces:
        *blocks, rest = BLANK_LINE.split(rest + piece)
        for block in blocks:
            if data := _data(block):
                yield data
    if data := _data(rest):
        yield data


def _data(block: bytes) -> bytes:
    if block.lstrip().startswith(b"{"):
        return block
    return b"\n".join(line[5:].strip() for line in block.splitlines() if line.startswith(b"data:"))
