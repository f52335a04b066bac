"""The chart of a forecast: temperature and rain of the next hours, or of the week."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from toolset.charts.worker import MAX_POINTS, Chart, Values
from toolset.forecast.report import Report, Slot, in_fahrenheit
from toolset.forecast.result import Detail, coming_days, next_hours

CELSIUS, FAHRENHEIT = "°C", "°F"
MAX_DAYS = 7
# Words are English, whatever the reader's language: the pictures' font has no Japanese letters.
RAIN = "Rain"


def chart_of(report: Report, detail: Detail, fahrenheit: bool) -> Chart | None:
    """Days for the week, else hours, or days where hours have no temperatures; None without any."""
    unit = FAHRENHEIT if fahrenheit else CELSIUS
    makers = (_days,) if detail == "week" else (_hours, _days)
    for make in makers:
        chart = make(report, unit)
        if any(line.count(None) < len(line) for line in chart.lines):
            return chart
    return None


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
    readings, amounts, chances = [], [], []
    for _, slot in found:
        readings.append((slot.temp_c, ""))
        amounts.append(slot.precipitation_mm)
        chances.append(_chance(slot))
    rain = _rain(amounts, chances)
    days = list(dict.fromkeys(_weekday(at.date()) for at, _ in found))
    return Chart(
        labels=tuple(f"{at:%H:%M}" for at, _ in found),
        lines=(_degrees(readings, unit),),
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
    labels, highs, lows, amounts, chances = [], [], [], [], []
    for _, day in coming_days(report, MAX_DAYS):
        labels.append(_weekday(day.date))
        highs.append((day.high_c, day.high_f))
        lows.append((day.low_c, day.low_f))
        amounts.append(day.precipitation_mm)
        chances.append(_highest(map(_chance, day.slots)))
    rain = _rain(amounts, chances)
    return Chart(
        labels=tuple(labels),
        lines=(_degrees(highs, unit), _degrees(lows, unit)),
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
        return _Rain(tuple(chances), "%")
    notes = tuple("" if chance is None else f"{chance}%" for chance in chances)
    return _Rain(tuple(map(_number, amounts)), "mm", notes)


def _chance(slot: Slot) -> int | None:
    """Of rain or snow, whichever is likelier."""
    return _highest((slot.rain, slot.snow))


def _highest(chances: Iterable[int | None]) -> int | None:
    return max((chance for chance in chances if chance is not None), default=None)


def _number(reading: str) -> float | None:
    return float(reading) if reading else None


def _degrees(readings: Sequence[tuple[str, str]], unit: str) -> Values:
    """Temperatures in one unit.

    Args:
        readings: each in Celsius, and in Fahrenheit where the source has it.
    """
    if unit == FAHRENHEIT:
        return tuple(_number(in_fahrenheit(celsius, own)) for celsius, own in readings)
    return tuple(_number(celsius) for celsius, _ in readings)


def _joined(values: Sequence[float | None], unit: str) -> str:
    known = [f"{value:g}" for value in values if value is not None]
    return f"{'/'.join(known)} {unit}" if known else ""
