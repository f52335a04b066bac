"""The HTTP client for SDKs over httpx2 (Anthropic, OpenAI); it reads only the beginning of an
error."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

import httpx2

from bot.http import ERROR_CAP, KEEP_ALIVE_S, beginning


class _Beginning(httpx2.AsyncByteStream):
    def __init__(self, pieces: AsyncIterable[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in beginning(self._pieces, ERROR_CAP):
            yield piece

    async def aclose(self) -> None:
        if isinstance(self._pieces, httpx2.AsyncByteStream):
            await self._pieces.aclose()


async def _cap_error(response: httpx2.Response) -> None:
    """A response hook: an error is read up to ``ERROR_CAP`` bytes and never expanded."""
    if response.status_code >= 400 and isinstance(response.stream, httpx2.AsyncByteStream):
        response.headers.pop("Content-Encoding", None)
        response.stream = _Beginning(response.stream)


def open_client(kind: type[httpx2.AsyncClient]) -> httpx2.AsyncClient:
    """A client without a limit on connections: the worker limits turns.

    Args:
        kind: the SDK's client over aiohttp; the pool of httpx2 becomes slow beyond a hundred
            requests in flight.
    """
    return kind(
        # aiohttp reads 0 as no limit.
        limits=httpx2.Limits(max_connections=0, keepalive_expiry=KEEP_ALIVE_S),
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_cap_error]},
    )
