"""HTTP client of Open-Meteo: a search for the place, then its forecast, in one time limit."""

from __future__ import annotations

from dataclasses import dataclass

import httpx

from toolset.forecast.report import Report
from toolset.openmeteo.forecast import parameters, read
from toolset.openmeteo.geocoding import COUNT, Found, Question, choose, question
from toolset.tool import ToolError
from toolset.web.source import Source

BODY_CAP = 256 * 1024  # bytes; a forecast has about 12,000


class UnknownPlace(ToolError):
    """The search finds nothing."""


@dataclass(frozen=True, slots=True)
class OpenMeteo:
    """Where the service is: two addresses, scheme, host and port."""

    forecast_url: str
    geocoding_url: str


class OpenMeteoClient:
    """A client of the service.

    Args:
        timeout_s: for each request with its second attempt; the caller limits the time of all.
    """

    def __init__(self, http: httpx.AsyncClient, service: OpenMeteo, timeout_s: float) -> None:
        self._forecasts = Source(http, service.forecast_url, timeout_s, BODY_CAP)
        self._places = Source(http, service.geocoding_url, timeout_s, BODY_CAP)

    async def report(self, asked: str, language: str) -> Report:
        """The weather of a place; ``language`` is the user's, empty for English.

        Raises:
            UnknownPlace: the search finds nothing.
            ToolError: one text per kind of failure.
        """
        found = await self._find(question(asked, language))
        return read(
            await self._forecasts.get_json("/v1/forecast", parameters(found)), found, language
        )

    async def _find(self, searched: Question) -> Found:
        for name in searched.names:
            query = {
                "name": name,
                "count": str(COUNT),
                "language": searched.language,
                "format": "json",
            }
            answer = await self._places.get_json("/v1/search", query)
            if not isinstance(answer, dict):
                raise ToolError("no weather data available")
            if found := choose(searched, answer.get("results")):
                return found
        raise UnknownPlace("location not found")
