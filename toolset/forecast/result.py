"""What ``get_weather`` returns of a report: now, and the days or hours that were asked for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any, Literal

from toolset.forecast.report import Day, Report, Slot, in_fahrenheit, in_mph

Detail = Literal["now_and_days", "hourly", "week"]

RELATIVE_DAYS = (
    "today",
    "tomorrow",
    "day after tomorrow",
    *(f"in {ahead} days" for ahead in range(3, 7)),
)
FEW_DAYS = 3
HOURS = 24
PARTS_OF_DAY = {
    "night": range(6),
    "morning": range(6, 12),
    "afternoon": range(12, 18),
    "evening": range(18, 24),
}


def result(report: Report, asked: str, detail: Detail, fahrenheit: bool) -> dict[str, Any]:
    """The report as an object; readings in Fahrenheit and miles are added where the user measures
    in them."""
    most = len(RELATIVE_DAYS) if detail == "week" else FEW_DAYS
    observed = report.observed
    readings = {
        "location": str(report.place) or asked,
        "note": report.note,
        "source": report.source,
        "local_observation_time": observed.isoformat(timespec="minutes") if observed else "",
        "condition": report.condition,
        "current_temp_c": report.temp_c,
        "current_temp_f": in_fahrenheit(report.temp_c, report.temp_f),
        "feels_like_c": report.feels_like_c,
        "feels_like_f": in_fahrenheit(report.feels_like_c, report.feels_like_f),
        "humidity_percent": report.humidity,
        "wind_kmh": report.wind_kmh,
        "wind_mph": in_mph(report.wind_kmh, report.wind_mph),
        "wind_direction": report.wind_direction,
    }
    response = _filled(readings, fahrenheit)
    response["days"] = [
        _filled(_day(day, name), fahrenheit) for name, day in coming_days(report, most)
    ]
    if detail == "hourly":
        hours = next_hours(report)
        response["hours"] = [_filled(_hour(at, slot), fahrenheit) for at, slot in hours]
    return response


def coming_days(report: Report, most: int) -> Iterable[tuple[str, Day]]:
    """Today and the days after it, by the local date of the place.

    Today is the later of the observation's date and the forecast's first date: an observation may
    be from before midnight, and a forecast may be outdated.
    """
    known = [day.date for day in report.days[:1]]
    if report.observed:
        known.append(report.observed.date())
    today = max(known, default=date.min)
    for day in report.days:
        ahead = (day.date - today).days
        if 0 <= ahead < most:
            yield RELATIVE_DAYS[ahead], day


def next_hours(report: Report) -> Iterable[tuple[datetime, Slot]]:
    """The slots from the one that contains the observation on."""
    slots = [
        (datetime.combine(day.date, time(slot.hour)), slot)
        for day in report.days
        for slot in day.slots
        if slot.hour in range(24)
    ]
    if not slots:
        return []
    now = report.observed or slots[0][0]
    first = max((at for at, _ in slots if at <= now), default=now)
    end = first + timedelta(hours=HOURS)
    return [(at, slot) for at, slot in slots if first <= at < end][:HOURS]


def _day(day: Day, name: str) -> dict[str, Any]:
    rain: dict[str, str] = {}
    snow: dict[str, str] = {}
    for part, hours in PARTS_OF_DAY.items():
        slots = [slot for slot in day.slots if slot.hour in hours]
        rain[part] = highest_chance(slot.rain for slot in slots)
        snow[part] = highest_chance(slot.snow for slot in slots)
    return {
        "day": name,
        "date": day.date.isoformat(),
        "weekday": f"{day.date:%A}",
        "condition": midday(day.slots),
        "high_c": day.high_c,
        "high_f": in_fahrenheit(day.high_c, day.high_f),
        "low_c": day.low_c,
        "low_f": in_fahrenheit(day.low_c, day.low_f),
        "rain_chance": _filled(rain),
        "snow_chance": _filled(snow) if set(snow.values()) - {"", "0"} else "",
        "precipitation_mm": day.precipitation_mm,
        "wind_max_kmh": day.wind_max_kmh,
        "wind_max_mph": in_mph(day.wind_max_kmh),
        "uv_index_max": day.uv_index_max,
        "sunrise": day.sunrise,
        "sunset": day.sunset,
    }


def _hour(at: datetime, slot: Slot) -> dict[str, Any]:
    return {
        "time": at.isoformat(timespec="minutes"),
        "condition": slot.condition,
        "temp_c": slot.temp_c,
        "temp_f": in_fahrenheit(slot.temp_c),
        "rain_chance": highest_chance([slot.rain]),
        "snow_chance": str(slot.snow or ""),
        "precipitation_mm": slot.precipitation_mm,
        "wind_kmh": slot.wind_kmh,
        "wind_mph": in_mph(slot.wind_kmh),
    }


def midday(slots: tuple[Slot, ...]) -> str:
    """The condition nearest to noon; empty where none is known."""
    described = [slot for slot in slots if slot.condition]
    return min(described, key=lambda slot: abs(slot.hour - 12)).condition if described else ""


def highest_chance(chances: Iterable[int | None]) -> str:
    """The highest known chance; empty without any."""
    return str(max((chance for chance in chances if chance is not None), default=""))


def _filled(readings: dict[str, Any], fahrenheit: bool = False) -> dict[str, Any]:
    """The readings without empty ones, and without Fahrenheit and miles where nobody wants them."""
    filled: dict[str, Any] = {}
    for name, value in readings.items():
        is_wanted = fahrenheit or not name.endswith(("_f", "_mph"))
        if is_wanted and value not in ("", {}):
            filled[name] = value
    return filled
