"""The request for a forecast, and the parser of the response: https://open-meteo.com/en/docs.

The response has a list for each variable, beside a list of local times. What falls is told for the
hour that ends at the time, everything else for the time itself.
"""

from __future__ import annotations

from datetime import date, datetime
from itertools import pairwise
from typing import Any

from toolset.forecast.report import Day, Report, Slot
from toolset.forecast.values import integer, reading
from toolset.openmeteo.geocoding import Found
from toolset.openmeteo.weather_codes import is_snow, words
from toolset.tool import ToolError
from toolset.web.json_values import as_list, as_object
from toolset.web.text import line

SOURCE = "Open-Meteo.com (CC BY 4.0)"  # as its licence asks
DAYS = 7
HOURS = DAYS * 24

CURRENT = (
    "temperature_2m,apparent_temperature,relative_humidity_2m,weather_code,wind_speed_10m,"
    "wind_direction_10m"
)
HOURLY = "temperature_2m,precipitation_probability,precipitation,weather_code,wind_speed_10m"
DAILY = (
    "temperature_2m_max,temperature_2m_min,sunrise,sunset,precipitation_sum,"
    "wind_speed_10m_max,uv_index_max"
)
DIRECTIONS = "N NNE NE ENE E ESE SE SSE S SSW SW WSW W WNW NW NNW"
COMPASS = DIRECTIONS.split()

Row = dict[str, Any]


def parameters(found: Found) -> dict[str, str]:
    """The query for seven days at a place."""
    return {
        "latitude": found.latitude,
        "longitude": found.longitude,
        "current": CURRENT,
        "hourly": HOURLY,
        "daily": DAILY,
        "timezone": "auto",
        "forecast_days": str(DAYS),
    }


def read(answer: object, found: Found, language: str) -> Report:
    """Parse a response, with conditions in Japanese for ``ja``, else in English.

    Raises:
        ToolError: it has no current weather.
    """
    whole = as_object(answer)
    now = as_object(whole.get("current"))
    condition, temp_c = words(now.get("weather_code"), language), reading(now.get("temperature_2m"))
    if not condition or not temp_c:
        raise ToolError("no weather data available")
    hours = _rows(whole.get("hourly"), HOURS)
    slots: dict[str, list[Slot]] = {}
    for hour, following in pairwise([*hours, {}]):
        if slot := _slot(hour, following, language):
            slots.setdefault(line(hour.get("time"))[:10], []).append(slot)
    days = (_day(row, slots) for row in _rows(whole.get("daily"), DAYS))
    return Report(
        place=found.place,
        observed=_moment(now.get("time")),
        condition=condition,
        temp_c=temp_c,
        feels_like_c=reading(now.get("apparent_temperature")),
        humidity=reading(now.get("relative_humidity_2m")),
        wind_kmh=reading(now.get("wind_speed_10m")),
        wind_direction=_compass(now.get("wind_direction_10m")),
        days=tuple(filter(None, days)),
        source=SOURCE,
        note=found.note,
    )


def _slot(hour: Row, following: Row, language: str) -> Slot | None:
    moment = _moment(hour.get("time"))
    if moment is None:
        return None
    rain, snow = integer(following.get("precipitation_probability")), integer(None)
    if is_snow(hour.get("weather_code")) or is_snow(following.get("weather_code")):
        rain, snow = snow, rain
    return Slot(
        hour=moment.hour,
        condition=words(hour.get("weather_code"), language),
        rain=rain,
        snow=snow,
        temp_c=reading(hour.get("temperature_2m")),
        precipitation_mm=reading(following.get("precipitation")),
        wind_kmh=reading(hour.get("wind_speed_10m")),
    )


def _day(row: Row, slots: dict[str, list[Slot]]) -> Day | None:
    try:
        day = date.fromisoformat(line(row.get("time")))
    except ValueError:
        return None
    return Day(
        date=day,
        high_c=reading(row.get("temperature_2m_max")),
        low_c=reading(row.get("temperature_2m_min")),
        slots=tuple(slots.get(day.isoformat(), ())),
        sunrise=_time(row.get("sunrise")),
        sunset=_time(row.get("sunset")),
        precipitation_mm=reading(row.get("precipitation_sum")),
        wind_max_kmh=reading(row.get("wind_speed_10m_max")),
        uv_index_max=reading(row.get("uv_index_max")),
    )


def _rows(table: object, most: int) -> list[Row]:
    """The rows of a table that comes in columns."""
    columns = as_object(table)
    rows: list[Row] = [{} for _ in as_list(columns.get("time"))[:most]]
    for name, column in columns.items():
        for row, value in zip(rows, as_list(column), strict=False):
            row[name] = value
    return rows


def _compass(degrees: object) -> str:
    direction = integer(degrees)
    return "" if direction is None else COMPASS[round(direction / 22.5) % 16]


def _time(value: object) -> str:
    """HH:MM; 00:00 is what the service writes where the sun does not rise or set."""
    moment = _moment(value)
    return f"{moment:%H:%M}" if moment and (moment.hour or moment.minute) else ""


def _moment(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(line(value)).replace(tzinfo=None)
    except ValueError:
        return None
