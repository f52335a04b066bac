"""Parser of a ``format=j1`` response, in which any field may be absent, empty, a string or a
number."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from toolset.forecast.report import Day, Place, Report, Slot
from toolset.forecast.values import integer, reading
from toolset.tool import ToolError
from toolset.web.decoding import decode_json
from toolset.web.json_values import entries
from toolset.web.text import line

SOURCE = "wttr.in"
OBSERVED = "%Y-%m-%d %I:%M %p"
SUN = "%I:%M %p"


def read(body: bytes, language: str) -> Report:
    """Parse a response, with conditions in ``language`` (the service's code) where it has them.

    Raises:
        ToolError: it has no current weather.
    """
    answer = _decoded(body)
    now = _first(answer.get("current_condition"))
    condition, temp_c = _condition(now, language), reading(now.get("temp_C"))
    if not condition or not temp_c:  # a failure behind the service gives zeros and empty texts
        raise ToolError("no weather data available")
    days = (_day(entry, language) for entry in entries(answer.get("weather")))
    return Report(
        place=_place(answer),
        observed=_observed(now.get("localObsDateTime")),
        condition=condition,
        temp_c=temp_c,
        feels_like_c=reading(now.get("FeelsLikeC")),
        humidity=reading(now.get("humidity")),
        wind_kmh=reading(now.get("windspeedKmph")),
        wind_direction=line(now.get("winddir16Point")),
        days=tuple(filter(None, days)),
        temp_f=reading(now.get("temp_F")),
        feels_like_f=reading(now.get("FeelsLikeF")),
        wind_mph=reading(now.get("windspeedMiles")),
        source=SOURCE,
    )


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        answer = decode_json(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise ToolError("no weather data available")
    data = answer.get("data")
    return data if isinstance(data, dict) else answer


def _place(answer: dict[str, Any]) -> Place:
    nearest = _first(answer.get("nearest_area"))
    place = Place(*(_value(nearest.get(part)) for part in ("areaName", "region", "country")))
    asked = _first(answer.get("request"))
    if not str(place) and line(asked.get("type")) != "LatLon":
        return Place(area=line(asked.get("query")))
    return place


def _day(entry: dict[str, Any], language: str) -> Day | None:
    try:
        day = date.fromisoformat(line(entry.get("date")))
    except ValueError:
        return None
    sun = _first(entry.get("astronomy"))
    slots = (_slot(hour, language) for hour in entries(entry.get("hourly")))
    return Day(
        date=day,
        high_c=reading(entry.get("maxtempC")),
        low_c=reading(entry.get("mintempC")),
        slots=tuple(filter(None, slots)),
        sunrise=_time(sun.get("sunrise")),
        sunset=_time(sun.get("sunset")),
        high_f=reading(entry.get("maxtempF")),
        low_f=reading(entry.get("mintempF")),
    )


def _slot(hour: dict[str, Any], language: str) -> Slot | None:
    time = integer(hour.get("time"))  # 0, 300 … 2100
    if time is None:
        return None
    rain, snow = integer(hour.get("chanceofrain")), integer(hour.get("chanceofsnow"))
    return Slot(time // 100, _condition(hour, language), rain, snow)


def _condition(holder: dict[str, Any], language: str) -> str:
    return _value(holder.get(f"lang_{language}")) or _value(holder.get("weatherDesc"))


def _observed(value: object) -> datetime | None:
    try:
        return datetime.strptime(line(value), OBSERVED)
    except ValueError:
        return None


def _time(value: object) -> str:
    """HH:MM; empty where the sun does not rise or set."""
    try:
        return f"{datetime.strptime(line(value), SUN):%H:%M}"
    except ValueError:
        return ""


def _value(wrapped: object) -> str:
    """The text of ``[{"value": "…"}]``."""
    return line(_first(wrapped).get("value"))


def _first(value: object) -> dict[str, Any]:
    return next(iter(entries(value)), {})
