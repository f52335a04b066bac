"""HTTP client of wttr.in: one place, one time limit, and an error text for every kind of
failure."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

import httpx

from toolset.forecast.report import Report
from toolset.tool import ToolError
from toolset.web.source import RETRY_PAUSE_S, Source, TemporaryError
from toolset.wttr.report import read

RETRIED = frozenset({500, 502, 504})
NOT_FOUND = "location not found"

# First bytes of bodies that are not reports; the service sends some of them with status 200 as
# application/json.
REFUSALS = {
    b"location not found": NOT_FOUND,
    b"Unknown location": "location not found (or the service's quota is used up: "
    "it answers both alike)",
    b"weather data source not available": "API error: status {status} "
    "(the weather data source is not available)",
    b"Sorry, we are running out of queries": "no weather data available "
    "(the service ran out of queries and answered for its default city)",
    b"Sorry, we processed more than": "API error: status {status} "
    "(the service is out of capacity for today)",
    b"Not so fast": "API error: status {status} "
    "(rate limit of the service, try again in some minutes)",
}


class WttrClient:
    """A client of one server.

    Args:
        base_url: scheme, host and port; the place cannot change them.
        timeout_s: for everything: connection, a slow body, the second attempt.
    """

    def __init__(self, http: httpx.AsyncClient, base_url: str, timeout_s: float) -> None:
        self._source = Source(http, base_url, timeout_s)
        self._timeout_s = timeout_s

    async def report(self, place: str, language: str) -> Report:
        """The weather of a place; ``language`` is one of the service's codes, or empty for English.

        Raises:
            ToolError: one text per kind of failure.
        """
        try:
            async with asyncio.timeout(self._timeout_s):
                body = await self._ask_twice(place, language)
        except TimeoutError as error:
            raise ToolError("API request failed: timeout") from error
        return read(body, language)

    async def _ask_twice(self, place: str, language: str) -> bytes:
        loop = asyncio.get_running_loop()
        half_time = loop.time() + self._timeout_s / 2
        try:
            return await self._ask(place, language)
        except TemporaryError:
            if loop.time() + RETRY_PAUSE_S > half_time:
                raise
        await asyncio.sleep(RETRY_PAUSE_S)
        return await self._ask(place, language)

    async def _ask(self, place: str, language: str) -> bytes:
        try:
            params = {"format": "j1", "lang": language} if language else {"format": "j1"}
            status, body = await self._source.exchange(f"/{quote(place, safe='')}", params)
        except httpx.ConnectError as error:
            raise TemporaryError("API request failed: connection failed") from error
        except httpx.HTTPError as error:
            raise TemporaryError("API request failed: connection closed") from error
        if refusal := _refusal(status, body):
            raise (TemporaryError if status in RETRIED and refusal != NOT_FOUND else ToolError)(
                refusal
            )
        return body


def _refusal(status: int, body: bytes) -> str:
    """The reason why this is not a report; empty where it may be one."""
    for beginning, text in REFUSALS.items():
        if body.startswith(beginning):
            return text.format(status=status)
    return "" if status == httpx.codes.OK else f"API error: status {status}"
