"""A stand-in for Open-Meteo's forecast and its search for places: refuses what it refuses, fails in
the ways it fails.

Documented at https://open-meteo.com/en/docs and https://open-meteo.com/en/docs/geocoding-api; how a
search treats short names, commas and languages is that of
https://github.com/open-meteo/geocoding-api, and the refusals are those of
https://github.com/open-meteo/open-meteo. Places and weather are made up.

with open_meteo_fake() as fake:
    fake.place("Fuchu", {"ja": "府中市"}, region="Tokyo", country="Japan")
    fake.fail("rate_limit")
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from aiohttp import web

from tests.fakes.serving import serving

NOW = datetime(2026, 4, 3, 9, 30)  # a Friday
HOURLY = {
    "temperature_2m": "°C",
    "relative_humidity_2m": "%",
    "apparent_temperature": "°C",
    "precipitation_probability": "%",
    "precipitation": "mm",
    "weather_code": "wmo code",
    "wind_speed_10m": "km/h",
    "wind_direction_10m": "°",
}
DAILY = {
    "weather_code": "wmo code",
    "temperature_2m_max": "°C",
    "temperature_2m_min": "°C",
    "sunrise": "iso8601",
    "sunset": "iso8601",
    "precipitation_sum": "mm",
    "precipitation_probability_max": "%",
    "wind_speed_10m_max": "km/h",
    "uv_index_max": "",
}
SEARCH = {"name", "count", "language", "format", "countryCode"}
FORECAST = {"latitude", "longitude", "current", "hourly", "daily", "timezone", "forecast_days"}
MINUTELY = "Minutely API request limit exceeded. Please try again in one minute."


@dataclass(frozen=True, slots=True)
class Failure:
    """A response; ``way`` is how it goes out."""

    status: int = 200
    body: str = ""
    way: Literal["whole", "dripping", "stalled", "closed"] = "whole"


FAILURES = {
    "rate_limit": Failure(429, f'{{"error":true,"reason":"{MINUTELY}"}}'),
    "panic": Failure(500, '{"error":true,"reason":"Something went wrong."}'),
    "gateway": Failure(502, "<html><h1>502 Bad Gateway</h1></html>"),
    "redirect": Failure(302),
    "not_json": Failure(200, "<html></html>"),
    "deep": Failure(200, "[" * 100_000),
    "list": Failure(200, "[]"),
    "nothing": Failure(200, "{}"),
    "numbers": Failure(200, '{"results":7,"current":7,"hourly":7,"daily":7}'),
    "huge": Failure(200, " " * (1024 * 1024)),
    "closed": Failure(way="closed"),
    "stalled": Failure(way="stalled"),
    "dripping": Failure(200, " " * 1000, way="dripping"),
}


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


@dataclass
class OpenMeteoFake:
    """The server.

    Attributes:
        base_url: what both addresses must be.
        searches: the queries of all searches, in order.
        forecasts: the queries of all forecasts.
        codes: weather codes by local hour (``2026-04-03T12:00``); the others are 2.
        rain: chances in percent by the hour at whose end they are told; the others are 0.
    """

    base_url: str = ""
    searches: list[dict[str, str]] = field(default_factory=list)
    forecasts: list[dict[str, str]] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)
    rain: dict[str, int] = field(default_factory=dict)
    _places: list[Known] = field(default_factory=list)
    _failures: dict[str, Failure] = field(default_factory=dict)

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

    def fail(self, failure: str, path: str = "/v1/search") -> None:
        """Fail from now on; ``failure`` is a key of ``FAILURES``."""
        self._failures[path] = FAILURES[failure]

    def recover(self) -> None:
        """Fail no longer."""
        self._failures.clear()

    async def search(self, request: web.Request) -> web.StreamResponse:
        """``/v1/search``."""
        query = dict(request.query)
        self.searches.append(query)
        if failure := self._failures.get(request.path):
            return await _failed(request, failure)
        if "name" not in query or set(query) - SEARCH or query.get("format", "json") != "json":
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

    async def forecast(self, request: web.Request) -> web.StreamResponse:
        """``/v1/forecast``."""
        query = dict(request.query)
        self.forecasts.append(query)
        if failure := self._failures.get(request.path):
            return await _failed(request, failure)
        asked = {
            part: query[part].split(",") if part in query else []
            for part in ("current", "hourly", "daily")
        }
        unknown = [name for name in asked["current"] + asked["hourly"] if name not in HOURLY]
        unknown += [name for name in asked["daily"] if name not in DAILY] + sorted(
            set(query) - FORECAST
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
        return web.json_response(self._forecast(asked, days))

    def _forecast(self, asked: dict[str, list[str]], days: int) -> dict[str, Any]:
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


@contextmanager
def open_meteo_fake() -> Iterator[OpenMeteoFake]:
    """A running fake on a free port of loopback, in a thread of its own."""
    fake = OpenMeteoFake()
    application = web.Application()
    application.router.add_get("/v1/search", fake.search)
    application.router.add_get("/v1/forecast", fake.forecast)
    with serving(application) as fake.base_url:
        yield fake


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


async def _failed(request: web.Request, failure: Failure) -> web.StreamResponse:
    if failure.way == "stalled":
        await asyncio.Event().wait()
    if failure.way == "closed":
        assert request.transport is not None
        request.transport.close()
    if failure.way == "dripping":
        response = web.StreamResponse()
        await response.prepare(request)
        for byte in failure.body.encode():
            await response.write(bytes([byte]))
            await asyncio.sleep(0.2)
        return response
    headers = {"Location": "/elsewhere"} if failure.status == 302 else {}
    return web.Response(status=failure.status, text=failure.body, headers=headers)
