"""The card of a forecast: the weather now, and the days or hours that were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from toolset.forecast.report import Day, Report, Slot
from toolset.forecast.result import (
    FEW_DAYS,
    RELATIVE_DAYS,
    Detail,
    coming_days,
    highest_chance,
    midday,
    next_hours,
)
from toolset.forecast.units import in_fahrenheit
from toolset.shown import Card
from toolset.titles import words_in

NOW = {"en": "Now", "ja": "現在"}
NAMED = ({"en": "Today", "ja": "今日"}, {"en": "Tomorrow", "ja": "明日"})
WEEKDAYS = {"en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"), "ja": tuple("月火水木金土日")}
MOST_HOURS = 12


def card_of(
    report: Report, asked: str, detail: Detail, locale: str, *, fahrenheit: bool
) -> Card | None:
    """The card; None where the report has neither days nor readings of now."""
    now = _joined(
        report.condition,
        _degrees(report.temp_f if fahrenheit else report.temp_c, fahrenheit=fahrenheit),
    )
    rows = [(words_in(locale, NOW), now)] if now else []
    if detail == "hourly":
        hours = list(next_hours(report))[:MOST_HOURS]
        rows += [(f"{at:%H:%M}", _hour(slot, fahrenheit=fahrenheit)) for at, slot in hours]
    else:
        rows += _days(
            report,
            len(RELATIVE_DAYS) if detail == "week" else FEW_DAYS,
            locale,
            fahrenheit=fahrenheit,
        )
    return Card(str(report.place) or asked, tuple(rows), report.source) if rows else None


def _days(report: Report, most: int, locale: str, *, fahrenheit: bool) -> Iterator[tuple[str, str]]:
    for name, day in coming_days(report, most):
        ahead = RELATIVE_DAYS.index(name)
        label = words_in(locale, NAMED[ahead]) if ahead < len(NAMED) else _date(day.date, locale)
        yield label, _day(day, fahrenheit=fahrenheit)


def _day(day: Day, *, fahrenheit: bool) -> str:
    low, high = (day.low_f, day.high_f) if fahrenheit else (day.low_c, day.high_c)
    degrees = _degrees(" – ".join(filter(None, (low, high))), fahrenheit=fahrenheit)
    return _joined(
        midday(day.slots), degrees, _rain(highest_chance(slot.rain for slot in day.slots))
    )


def _hour(slot: Slot, *, fahrenheit: bool) -> str:
    degrees = in_fahrenheit(slot.temp_c) if fahrenheit else slot.temp_c
    rain = "" if slot.rain is None else str(slot.rain)
    return _joined(slot.condition, _degrees(degrees, fahrenheit=fahrenheit), _rain(rain))


def _date(day: date, locale: str) -> str:
    weekday = WEEKDAYS["ja" if locale[:2].lower() == "ja" else "en"][day.weekday()]
    return (
        f"{weekday} {day.month}/{day.day}"
        if weekday.isascii()
        else f"{day.month}/{day.day} ({weekday})"
    )


def _degrees(reading: str, *, fahrenheit: bool) -> str:
    return f"{reading} {'°F' if fahrenheit else '°C'}" if reading else ""


def _rain(chance: str) -> str:
    return f"☂ {chance}%" if chance else ""


def _joined(*readings: str) -> str:
    return " · ".join(filter(None, map(str.strip, readings)))
