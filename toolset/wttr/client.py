"""HTTP client of wttr.in: one place, one time limit, and an error text for every kind of
failure."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

import httpx

from toolset.forecast.report import Report
from toolset.tool import ToolError
from toolset.web.source import Source, TemporaryError
from toolset.wttr.places import note
from toolset.wttr.report import read

NOT_FOUND = "location not found"
SOURCE_DOWN = b"weather data source not available"

# First bytes of bodies that are not reports; the service sends some of them with status 200 as
# application/json.
REFUSALS = {
    b"location not found": NOT_FOUND,
    b"Unknown location": "location not found (or the service's quota is used up: "
    "it answers both alike)",
    SOURCE_DOWN: "API error: status {status} (the weather data source is not available)",
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
        self._source = _WttrSource(http, base_url, timeout_s)

    async def report(self, asked: str, language: str) -> Report:
        """The weather of a place; ``language`` is one of the service's codes, or empty for English.

        Raises:
            ToolError: one text per kind of failure.
        """
        params = {"format": "j1"} | ({"lang": language} if language else {})
        report = read(await self._source.get(f"/{quote(asked, safe='')}", params), language)
        return replace(report, note=note(asked, report.place))


class _WttrSource(Source):
    def check(self, status: int, body: bytes) -> None:
        for beginning, text in REFUSALS.items():
            if body.startswith(beginning):
                kind = TemporaryError if beginning == SOURCE_DOWN else ToolError
                raise kind(text.format(status=status))
        super().check(status, body)
