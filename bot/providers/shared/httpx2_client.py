"""Errors that reach an SDK over httpx2, cut where nobody needs more of them."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

import httpx2

from bot.providers.shared.http import ERROR_CAP, beginning


class _Beginning(httpx2.AsyncByteStream):
    def __init__(self, pieces: AsyncIterable[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in beginning(self._pieces, ERROR_CAP):
            yield piece

    async def aclose(self) -> None:
        if isinstance(self._pieces, httpx2.AsyncByteStream):
            await self._pieces.aclose()


async def bound_error(response: httpx2.Response) -> None:
    """A hook for responses: an error is read up to ``ERROR_CAP`` bytes and never expanded."""
    if response.status_code >= 400 and isinstance(response.stream, httpx2.AsyncByteStream):
        response.headers.pop("Content-Encoding", None)
        response.stream = _Beginning(response.stream)
