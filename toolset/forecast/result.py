"""What ``get_weather`` returns of a report: now, and the days or hours that were asked for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any, Literal

from toolset.forecast.report import Day, Report, Slot
from toolset.forecast.units import in_fahrenheit, in_mph

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
    readings = {
        "location": str(report.place) or asked,
        "note": report.note,
        "source": report.source,
        "local_observation_time": report.observed.isoformat(timespec="minutes")
        if report.observed
        else "",
        "condition": report.condition,
        "current_temp_c": report.temp_c,
        "current_temp_f": report.temp_f if fahrenheit else "",
        "feels_like_c": report.feels_like_c,
        "feels_like_f": report.feels_like_f if fahrenheit else "",
        "humidity_percent": report.humidity,
        "wind_kmh": report.wind_kmh,
        "wind_mph": report.wind_mph if fahrenheit else "",
        "wind_direction": report.wind_direction,
    }
    most = len(RELATIVE_DAYS) if detail == "week" else FEW_DAYS
    days = {"days": [_day(day, name, fahrenheit) for name, day in coming_days(report, most)]}
    hours = (
        {"hours": [_hour(at, slot, fahrenheit) for at, slot in next_hours(report)]}
        if detail == "hourly"
        else {}
    )
    return _filled(readings) | days | hours


def coming_days(report: Report, most: int) -> Iterable[tuple[str, Day]]:
    """Today and the days after it, by the local date of the place.

    Today is the later of the observation's date and the forecast's first date: an observation may
    be from before midnight, and a forecast may be outdated.
    """
    known = [day.date for day in report.days[:1]] + (
        [report.observed.date()] if report.observed else []
    )
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
    return [(at, slot) for at, slot in slots if first <= at < first + timedelta(hours=HOURS)][
        :HOURS
    ]


def _day(day: Day, name: str, fahrenheit: bool) -> dict[str, Any]:
    parts = {
        part: [slot for slot in day.slots if slot.hour in hours]
        for part, hours in PARTS_OF_DAY.items()
    }
    rain = {part: highest_chance(slot.rain for slot in slots) for part, slots in parts.items()}
    snow = {part: highest_chance(slot.snow for slot in slots) for part, slots in parts.items()}
    return _filled(
        {
            "day": name,
            "date": day.date.isoformat(),
            "weekday": f"{day.date:%A}",
            "condition": midday(day.slots),
            "high_c": day.high_c,
            "low_c": day.low_c,
            "high_f": day.high_f if fahrenheit else "",
            "low_f": day.low_f if fahrenheit else "",
            "rain_chance": _filled(rain),
            "snow_chance": _filled(snow) if set(snow.values()) - {"", "0"} else "",
            "precipitation_mm": day.precipitation_mm,
            "wind_max_kmh": day.wind_max_kmh,
            "wind_max_mph": in_mph(day.wind_max_kmh) if fahrenheit else "",
            "uv_index_max": day.uv_index_max,
            "sunrise": day.sunrise,
            "sunset": day.sunset,
        }
    )


def _hour(at: datetime, slot: Slot, fahrenheit: bool) -> dict[str, Any]:
    return _filled(
        {
            "time": at.isoformat(timespec="minutes"),
            "condition": slot.condition,
            "temp_c": slot.temp_c,
            "temp_f": in_fahrenheit(slot.temp_c) if fahrenheit else "",
            "rain_chance": "" if slot.rain is None else str(slot.rain),
            "snow_chance": str(slot.snow) if slot.snow else "",
            "precipitation_mm": slot.precipitation_mm,
            "wind_kmh": slot.wind_kmh,
            "wind_mph": in_mph(slot.wind_kmh) if fahrenheit else "",
        }
    )


def midday(slots: tuple[Slot, ...]) -> str:
    """The condition nearest to noon; empty where none is known."""
    described = [slot for slot in slots if slot.condition]
    return min(described, key=lambda slot: abs(slot.hour - 12)).condition if described else ""


def highest_chance(chances: Iterable[int | None]) -> str:
    """The highest known chance; empty without any."""
    return str(max((chance for chance in chances if chance is not None), default=""))


def _filled(readings: dict[str, Any]) -> dict[str, Any]:
    """The readings without empty ones."""
    return {name: value for name, value in readings.items() if value not in ("", {})}
