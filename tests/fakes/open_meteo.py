"""A stand-in for Open-Meteo's forecast and its search for places: refuses what it refuses, fails in
the ways it fails.

Documented at https://open-meteo.com/en/docs and https://open-meteo.com/en/docs/geocoding-api; how a
search treats short names, commas and languages is that of
https://github.com/open-meteo/geocoding-api, and the refusals are those of
https://github.com/open-meteo/open-meteo. Places and weather are made up.

with OpenMeteoFake().served() as fake:
    fake.place("Fuchu", {"ja": "府中市"}, region="Tokyo", country="Japan")
    fake.fail("rate_limit")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from aiohttp import web

from tests.fakes.names import NAMES
from tests.fakes.sources import ANSWERS, Failing, SourceAnswer

NOW = datetime(2026, 4, 3, 9, 30)  # a Friday
KNOWN = NAMES["open_meteo"]
HOURLY, DAILY = KNOWN["hourly"], KNOWN["daily"]
MINUTELY = "Minutely API request limit exceeded. Please try again in one minute."


@dataclass(frozen=True, slots=True)
class Known:
    """A place, with its names and those of its region and country by language; the English ones are
    ``en``."""

    names: Mapping[str, str]
    regions: Mapping[str, str]
    countries: Mapping[str, str]
    country_code: str
    population: int

    def found(self, identity: int, language: str) -> dict[str, Any]:
        """A search result; empty fields are left out."""
        named = {
            "name": self.names,
            "country": self.countries,
            "admin1": self.regions,
        }
        texts = {key: names.get(language, names["en"]) for key, names in named.items()}
        place = {
            "id": identity,
            "latitude": 35.0 + identity,
            "longitude": 139.5,
            "elevation": 44.0,
            "feature_code": "PPLA2",
            "country_code": self.country_code,
            "timezone": "Asia/Tokyo",
            "population": self.population,
        }
        return {key: value for key, value in (place | texts).items() if value}


class OpenMeteoFake(Failing):
    """The server.

    Attributes:
        searches: the queries of all searches, in order.
        forecasts: the queries of all forecasts.
        codes: weather codes by local hour (``2026-04-03T12:00``); the others are 2.
        rain: chances in percent by the hour at whose end they are told; the others are 0.
        failing: the path whose requests fail.
    """

    answers = ANSWERS | {
        "rate_limit": SourceAnswer(429, f'{{"error":true,"reason":"{MINUTELY}"}}'.encode()),
        "list": SourceAnswer(200, b"[]"),
        "nothing": SourceAnswer(200, b"{}"),
        "numbers": SourceAnswer(200, b'{"results":7,"current":7,"hourly":7,"daily":7}'),
    }

    def __init__(self) -> None:
        super().__init__()
        self.searches: list[dict[str, str]] = []
        self.forecasts: list[dict[str, str]] = []
        self.codes: dict[str, int] = {}
        self.rain: dict[str, int] = {}
        self.failing = "/v1/search"
        self._places: list[Known] = []

    def place(
        self,
        name: str,
        names: Mapping[str, str] | None = None,
        *,
        region: str = "",
        country: str = "",
        **more: Any,
    ) -> None:
        """Know a place by its English name and names by language; more: ``code``, ``inhabitants``,
        ``regions``."""
        self._places.append(
            Known(
                {"en": name, **(names or {})},
                {"en": region, **more.get("regions", {})},
                {"en": country},
                more.get("code", "JP"),
                more.get("inhabitants", 100_000),
            )
        )

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        query, is_search = dict(request.query), request.path == "/v1/search"
        (self.searches if is_search else self.forecasts).append(query)
        if request.path == self.failing and (failure := await self.failed(request)):
            return failure
        return self._search(query) if is_search else self._forecast(query)

    def _search(self, query: dict[str, str]) -> web.Response:
        if (
            "name" not in query
            or set(query) - set(KNOWN["search"])
            or query.get("format", "json") != "json"
        ):
            return _refused("Value required for key 'name'.")
        if not 1 <= int(query.get("count", "10")) <= 100:
            return _refused("Parameter count must be between 1 and 100.")
        name, language = (
            query["name"].partition(",")[0].strip().casefold(),
            query.get("language", "en"),
        )
        fits: Callable[[str], bool] = (
            name.__eq__
            if len(name) <= 2
            else lambda known: known.startswith(name)  # fuzzy from three characters on
        )
        results = [
            known.found(identity, language)
            for identity, known in enumerate(self._places, 1)
            if len(name) > 1
            and any(fits(known.names.get(code, "").casefold()) for code in {"en", language})
        ]
        found = {"results": results[: int(query.get("count", "10"))]} if results else {}
        return web.json_response({**found, "generationtime_ms": 0.5})

    def _forecast(self, query: dict[str, str]) -> web.Response:
        asked = {
            part: query[part].split(",") if part in query else []
            for part in ("current", "hourly", "daily")
        }
        unknown = [name for name in asked["current"] + asked["hourly"] if name not in HOURLY]
        unknown += [name for name in asked["daily"] if name not in DAILY] + sorted(
            set(query) - set(KNOWN["forecast"])
        )
        if unknown:
            return _refused(
                "Data corrupted at path ''. Cannot initialize from invalid String value "
                f"{unknown[0]}."
            )
        if not abs(float(query["latitude"])) <= 90:
            return _refused(f"Latitude must be in range of -90 to 90°. Given: {query['latitude']}.")
        if asked["daily"] and "timezone" not in query:
            return _refused("Timezone is required")
        days = int(query.get("forecast_days", "7"))
        if not 0 <= days <= 16:
            return _refused(f"Forecast days is invalid. Allowed range 0 to 16. Given {days}.")
        return web.json_response(self._weather(asked, days))

    def _weather(self, asked: dict[str, list[str]], days: int) -> dict[str, Any]:
        midnight = NOW.replace(hour=0, minute=0)
        hours = [_iso(midnight + timedelta(hours=ahead)) for ahead in range(24 * days)]
        dates = [f"{midnight + timedelta(days=ahead):%Y-%m-%d}" for ahead in range(days)]
        now = {name: self._hourly(name, _iso(NOW.replace(minute=0))) for name in asked["current"]}
        return {
            "latitude": 35.65,
            "longitude": 139.5,
            "generationtime_ms": 0.2,
            "utc_offset_seconds": 32400,
            "timezone": "Asia/Tokyo",
            "timezone_abbreviation": "GMT+9",
            "elevation": 44.0,
            "current_units": {"time": "iso8601", "interval": "seconds"}
            | {name: HOURLY[name] for name in now},
            "current": {"time": _iso(NOW), "interval": 900, **now},
            "hourly": {
                "time": hours,
                **{name: [self._hourly(name, at) for at in hours] for name in asked["hourly"]},
            },
            "daily": {
                "time": dates,
                **{name: [_daily(name, day) for day in dates] for name in asked["daily"]},
            },
        }

    def _hourly(self, name: str, at: str) -> float:
        chance = self.rain.get(at, 0)
        reported = {"weather_code": self.codes.get(at, 2), "precipitation_probability": chance}
        reported["precipitation"] = chance // 20
        values = {"temperature_2m": 21.3, "apparent_temperature": 20.4, "relative_humidity_2m": 58}
        return {**values, "wind_speed_10m": 8.2, "wind_direction_10m": 225, **reported}[name]


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes")


def _daily(name: str, day: str) -> float | str:
    sun = {"sunrise": f"{day}T05:28", "sunset": f"{day}T18:05"}
    values = {
        "temperature_2m_max": 24.6,
        "temperature_2m_min": 12.1,
        "precipitation_sum": 3.2,
        "uv_index_max": 5.65,
    }
    reported: dict[str, float | str] = {
        "weather_code": 61,
        "precipitation_probability_max": 60,
        "wind_speed_10m_max": 20.5,
    }
    return (reported | values | sun)[name]


def _refused(reason: str) -> web.Response:
    return web.json_response({"error": True, "reason": reason}, status=400)
