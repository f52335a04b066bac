"""Parser of a ``format=j1`` response, in which any field may be absent, empty, a string or a number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import msgspec

from toolset.tool import ToolError

TEXT_CAP = 200  # characters of a name or condition: comparing two names takes the product of their lengths
OBSERVED = "%Y-%m-%d %I:%M %p"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a report, in the service's (mostly English) names; empty where unknown."""

    area: str = ""
    region: str = ""
    country: str = ""

    def __str__(self) -> str:
        return ", ".join(dict.fromkeys(name for name in (self.area, self.region, self.country) if name))


@dataclass(frozen=True, slots=True)
class Slot:
    """Three hours of a day, from ``hour`` on; chances in percent, None where unknown."""

    hour: int
    condition: str
    rain: int | None
    snow: int | None


@dataclass(frozen=True, slots=True)
class Day:
    """The forecast of one local date."""

    date: date
    high_c: str
    low_c: str
    high_f: str
    low_f: str
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One response; readings are decimal strings, empty where absent. ``observed`` is local time."""

    place: Place
    observed: datetime | None
    condition: str
    temp_c: str
    temp_f: str
    feels_like_c: str
    feels_like_f: str
    humidity: str
    wind_kmh: str
    wind_mph: str
    wind_direction: str
    days: tuple[Day, ...]


def read(body: bytes, language: str) -> Report:
    """Parse a response, with conditions in ``language`` (the service's code) where it has them.

    Raises:
        ToolError: it has no current weather.
    """
    answer = _decoded(body)
    now = _first(answer.get("current_condition"))
    condition, temp_c = _condition(now, language), _reading(now.get("temp_C"))
    if not condition or not temp_c:  # a failure behind the service gives zeros and empty texts
        raise ToolError("no weather data available")
    return Report(
        place=_place(answer),
        observed=_observed(now.get("localObsDateTime")),
        condition=condition,
        temp_c=temp_c,
        temp_f=_reading(now.get("temp_F")),
        feels_like_c=_reading(now.get("FeelsLikeC")),
        feels_like_f=_reading(now.get("FeelsLikeF")),
        humidity=_reading(now.get("humidity")),
        wind_kmh=_reading(now.get("windspeedKmph")),
        wind_mph=_reading(now.get("windspeedMiles")),
        wind_direction=_text(now.get("winddir16Point")),
        days=tuple(day for entry in _entries(answer.get("weather")) if (day := _day(entry, language))),
    )


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise ToolError("no weather data available")
    data = answer.get("data")
    return data if isinstance(data, dict) else answer


def _place(answer: dict[str, Any]) -> Place:
    nearest = _first(answer.get("nearest_area"))
    place = Place(*(_value(nearest.get(part)) for part in ("areaName", "region", "country")))
    asked = _first(answer.get("request"))
    if not str(place) and _text(asked.get("type")) != "LatLon":
        return Place(area=_text(asked.get("query")))
    return place


def _day(entry: dict[str, Any], language: str) -> Day | None:
    try:
        day = date.fromisoformat(_text(entry.get("date")))
    except ValueError:
        return None
    return Day(
        date=day,
        high_c=_reading(entry.get("maxtempC")),
        low_c=_reading(entry.get("mintempC")),
        high_f=_reading(entry.get("maxtempF")),
        low_f=_reading(entry.get("mintempF")),
        slots=tuple(slot for hour in _entries(entry.get("hourly")) if (slot := _slot(hour, language))),
    )


def _slot(hour: dict[str, Any], language: str) -> Slot | None:
    time = _integer(hour.get("time"))  # 0, 300 … 2100
    if time is None:
        return None
    rain, snow = _integer(hour.get("chanceofrain")), _integer(hour.get("chanceofsnow"))
    return Slot(time // 100, _condition(hour, language), rain, snow)


def _condition(holder: dict[str, Any], language: str) -> str:
    return (_value(holder.get(f"lang_{language}")) if language else "") or _value(holder.get("weatherDesc"))


def _observed(value: object) -> datetime | None:
    try:
        return datetime.strptime(_text(value), OBSERVED)
    except ValueError:
        return None


def _reading(value: object) -> str:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return ""
    return f"{number + 0.0:g}" if math.isfinite(number) else ""  # + 0.0 makes the service's "-0" a 0


def _integer(value: object) -> int | None:
    reading = _reading(value)
    return round(float(reading)) if reading else None


def _text(value: object) -> str:
    return value[:TEXT_CAP].strip() if isinstance(value, str) else ""


def _value(wrapped: object) -> str:
    """The text of ``[{"value": "…"}]``."""
    return _text(_first(wrapped).get("value"))


def _entries(value: object) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _first(value: object) -> dict[str, Any]:
    return next(iter(_entries(value)), {})
