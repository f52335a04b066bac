"""The chart of a forecast: temperature and rain of the next hours, or of the week."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from toolset.charts.worker import MAX_POINTS, Chart, Values
from toolset.forecast.report import Report, Slot
from toolset.forecast.result import Detail, coming_days, next_hours
from toolset.forecast.units import in_fahrenheit

CELSIUS, FAHRENHEIT = "°C", "°F"
MAX_DAYS = 7
# Words are English, whatever the reader's language: the pictures' font has no Japanese letters.
RAIN = "Rain"


def chart_of(report: Report, detail: Detail, fahrenheit: bool) -> Chart | None:
    """Days for the week, else hours, or days where hours have no temperatures; None without any."""
    unit = FAHRENHEIT if fahrenheit else CELSIUS
    charts = (
        [_days(report, unit)] if detail == "week" else [_hours(report, unit), _days(report, unit)]
    )
    return next(
        (
            chart
            for chart in charts
            if any(value is not None for line in chart.lines for value in line)
        ),
        None,
    )


def words_of(chart: Chart) -> str:
    """What a chart shows: its title, and its figures, a point in each line."""
    title = f"{chart.title} ({', '.join((*chart.line_names, chart.bar_name))})"
    notes = chart.notes or ("",) * len(chart.labels)
    rows = zip(chart.labels, zip(*chart.lines, strict=True), chart.bars, notes, strict=True)
    lines = [title]
    for label, values, bar, note in rows:
        figures = (_joined(values, chart.line_unit), _joined((bar,), chart.bar_unit), note)
        lines.append(" · ".join(filter(None, (label, *figures))))
    return "\n".join(lines)


def _hours(report: Report, unit: str) -> Chart:
    found = list(next_hours(report))[:MAX_POINTS]
    slots = [slot for _, slot in found]
    labels = tuple(f"{at:%H:%M}" for at, _ in found)
    rain = _rain([slot.precipitation_mm for slot in slots], [_chance(slot) for slot in slots])
    days = list(dict.fromkeys(_weekday(at.date()) for at, _ in found))
    return Chart(
        labels=labels,
        lines=(_degrees([(slot.temp_c, "") for slot in slots], unit),),
        line_unit=unit,
        bars=rain.values,
        bar_unit=rain.unit,
        notes=rain.notes,
        source=report.source,
        title=f"{report.place} · {', '.join(days)}",
        line_names=("Temperature",),
        bar_name=RAIN,
    )


def _days(report: Report, unit: str) -> Chart:
    days = [day for _, day in coming_days(report, MAX_DAYS)]
    labels = tuple(_weekday(day.date) for day in days)
    lines = (
        _degrees([(day.high_c, day.high_f) for day in days], unit),
        _degrees([(day.low_c, day.low_f) for day in days], unit),
    )
    chances = [
        max((chance for chance in map(_chance, day.slots) if chance is not None), default=None)
        for day in days
    ]
    rain = _rain([day.precipitation_mm for day in days], chances)
    return Chart(
        labels=labels,
        lines=lines,
        line_unit=unit,
        bars=rain.values,
        bar_unit=rain.unit,
        notes=rain.notes,
        source=report.source,
        title=str(report.place),
        line_names=("High", "Low"),
        bar_name=RAIN,
    )


def _weekday(day: date) -> str:
    return f"{day:%a} {day.month}/{day.day}"


@dataclass(frozen=True, slots=True)
class _Rain:
    values: Values
    unit: str
    notes: tuple[str, ...] = ()


def _rain(amounts: Sequence[str], chances: Sequence[int | None]) -> _Rain:
    """Bars with their unit, and notes: amounts with their chances, or chances alone."""
    if not any(amounts):
        return _Rain(tuple(None if chance is None else float(chance) for chance in chances), "%")
    notes = tuple("" if chance is None else f"{chance}%" for chance in chances)
    return _Rain(tuple(float(amount) if amount else None for amount in amounts), "mm", notes)


def _chance(slot: Slot) -> int | None:
    """Of rain or snow, whichever is likelier."""
    return max((chance for chance in (slot.rain, slot.snow) if chance is not None), default=None)


def _degrees(readings: Sequence[tuple[str, str]], unit: str) -> Values:
    """Temperatures in one unit.

    Args:
        readings: each in Celsius, and in Fahrenheit where the source has it.
    """
    degrees = [
        in_fahrenheit(celsius, fahrenheit) if unit == FAHRENHEIT else celsius
        for celsius, fahrenheit in readings
    ]
    return tuple(float(value) if value else None for value in degrees)


def _joined(values: Sequence[float | None], unit: str) -> str:
    known = [f"{value:g}" for value in values if value is not None]
    return f"{'/'.join(known)} {unit}" if known else ""
