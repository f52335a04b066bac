"""HTTP over aiohttp: sessions, and the beginnings of bodies such as errors and descriptions of models.

Kaiwa asks for no compression. A body that is compressed all the same is not expanded: one megabyte may become many.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterable, AsyncIterator

import aiohttp

from bot.providers.retry_policy import CONNECT_TIMEOUT_S, KEEP_ALIVE_S

ERROR_CAP = 64 * 1024  # bytes of an error; those of vendors have less than 2 KiB
CARD_CAP = 4 * 1024 * 1024  # bytes of the description of a model


def open_session(tls: ssl.SSLContext | bool = True, proxy: str | None = None) -> aiohttp.ClientSession:
    """A session that limits the time for connecting alone, and no connections: the worker limits turns."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S, ssl=tls),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
        proxy=proxy,
        auto_decompress=False,
    )


async def beginning(pieces: AsyncIterable[bytes], most: int) -> AsyncIterator[bytes]:
    """The first ``most`` bytes; later pieces are not requested."""
    left = most
    async for piece in pieces:
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


async def read_beginning(response: aiohttp.ClientResponse, most: int = ERROR_CAP) -> bytes:
    """The first ``most`` bytes of a body; the connection of a longer body is closed."""
    body = b"".join([piece async for piece in beginning(response.content.iter_any(), most)])
    if not response.content.at_eof():
        response.close()
    return body
