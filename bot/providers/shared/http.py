"""HTTP over aiohttp."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

import aiohttp

ERROR_CAP = 64 * 1024  # bytes of an error; vendors' are below 2 KiB
CARD_CAP = 4 * 1024 * 1024  # of what a server says of a model


async def beginning(pieces: AsyncIterable[bytes], most: int) -> AsyncIterator[bytes]:
    """The pieces up to so many bytes; nothing after them is asked for."""
    left = most
    async for piece in pieces:
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


async def read_beginning(response: aiohttp.ClientResponse, most: int = ERROR_CAP) -> bytes:
    """The first bytes of a body; the connection of a longer one is closed."""
    body = b"".join([piece async for piece in beginning(response.content.iter_any(), most)])
    if not response.content.at_eof():
        response.close()
    return body
