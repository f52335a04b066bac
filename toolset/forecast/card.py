"""The card of a forecast: the weather now, and the days or hours that were asked for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from toolset.forecast.report import Report, Slot, in_fahrenheit
from toolset.forecast.result import (
    FEW_DAYS,
    RELATIVE_DAYS,
    Detail,
    coming_days,
    highest_chance,
    midday,
    next_hours,
)
from toolset.shown import Card
from toolset.titles import words_in

NOW = {"en": "Now", "ja": "現在"}
NAMED = ({"en": "Today", "ja": "今日"}, {"en": "Tomorrow", "ja": "明日"})
WEEKDAYS_JA = "月火水木金土日"
MOST_HOURS = 12


def card_of(
    report: Report, asked: str, detail: Detail, locale: str, *, fahrenheit: bool
) -> Card | None:
    """The card; None where the report has neither days nor readings of now."""
    now = _joined(report.condition, _degrees(fahrenheit, (report.temp_c, report.temp_f)))
    rows = [(words_in(locale, NOW), now)] if now else []
    if detail == "hourly":
        for at, slot in list(next_hours(report))[:MOST_HOURS]:
            degrees, rain = _degrees(fahrenheit, (slot.temp_c, "")), _rain([slot])
            rows.append((f"{at:%H:%M}", _joined(slot.condition, degrees, rain)))
    else:
        most = len(RELATIVE_DAYS) if detail == "week" else FEW_DAYS
        for name, day in coming_days(report, most):
            degrees = _degrees(fahrenheit, (day.low_c, day.low_f), (day.high_c, day.high_f))
            label = _label(RELATIVE_DAYS.index(name), day.date, locale)
            rows.append((label, _joined(midday(day.slots), degrees, _rain(day.slots))))
    return Card(str(report.place) or asked, tuple(rows), report.source) if rows else None


def _label(ahead: int, day: date, locale: str) -> str:
    if ahead < len(NAMED):
        return words_in(locale, NAMED[ahead])
    if locale[:2].lower() == "ja":
        return f"{day.month}/{day.day} ({WEEKDAYS_JA[day.weekday()]})"
    return f"{day:%a} {day.month}/{day.day}"


def _degrees(fahrenheit: bool, *readings: tuple[str, str]) -> str:
    """Temperatures in one unit.

    Args:
        readings: each in Celsius, and in Fahrenheit where the source has it.
    """
    unit, degrees = "°C", [celsius for celsius, _ in readings]
    if fahrenheit:
        unit, degrees = "°F", [in_fahrenheit(celsius, own) for celsius, own in readings]
    known = " – ".join(filter(None, degrees))
    return f"{known} {unit}" if known else ""


def _rain(slots: Iterable[Slot]) -> str:
    chance = highest_chance(slot.rain for slot in slots)
    return f"☂ {chance}%" if chance else ""


def _joined(*readings: str) -> str:
    return " · ".join(filter(None, map(str.strip, readings)))
