"""The chart of a forecast: temperature and rain of the next hours, or of the week."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolset.charts.worker import MAX_POINTS, Chart, Values
from toolset.forecast.report import Report, Slot
from toolset.forecast.result import Detail, coming_days, highest_chance, next_hours
from toolset.forecast.units import in_fahrenheit

MAX_DAYS = 7


@dataclass(frozen=True, slots=True)
class _Point:
    """An hour or a day: its temperatures, what falls, and the slots with the chances of that."""

    label: str
    celsius: tuple[str, ...]
    amount: str
    slots: tuple[Slot, ...]


def chart_of(report: Report, detail: Detail, fahrenheit: bool) -> Chart | None:
    """Days for the week, else hours, or days where hours have no temperatures; None without any."""
    days = [
        _Point(f"{day.date:%m-%d}", (day.high_c, day.low_c), day.precipitation_mm, day.slots)
        for _, day in coming_days(report, MAX_DAYS)
    ]
    hours = [
        _Point(f"{at:%H:%M}", (slot.temp_c,), slot.precipitation_mm, (slot,))
        for at, slot in next_hours(report)
    ]
    for points in [days] if detail == "week" else [hours[:MAX_POINTS], days]:
        if any("".join(point.celsius) for point in points):
            return _chart(points, fahrenheit, report.source)
    return None


def words_of(chart: Chart) -> str:
    """The figures of a chart, a point in each line."""
    notes = chart.notes or ("",) * len(chart.labels)
    rows = zip(chart.labels, zip(*chart.lines, strict=True), chart.bars, notes, strict=True)
    return "\n".join(
        " · ".join(
            filter(
                None,
                (label, _joined(lines, chart.line_unit), _joined((bar,), chart.bar_unit), note),
            )
        )
        for label, lines, bar, note in rows
    )


def _chart(points: Sequence[_Point], fahrenheit: bool, source: str) -> Chart:
    """Bars are amounts with their chances as notes, or chances alone."""
    lines = [
        _numbers([in_fahrenheit(value) if fahrenheit else value for value in line])
        for line in zip(*(point.celsius for point in points), strict=True)
    ]
    # Of rain or snow, whichever is likelier.
    chances = [
        highest_chance(chance for slot in point.slots for chance in (slot.rain, slot.snow))
        for point in points
    ]
    amounts = [point.amount for point in points]
    has_amounts = any(amounts)
    return Chart(
        labels=tuple(point.label for point in points),
        lines=tuple(lines),
        line_unit="°F" if fahrenheit else "°C",
        bars=_numbers(amounts if has_amounts else chances),
        bar_unit="mm" if has_amounts else "%",
        notes=tuple(f"{chance}%" if chance else "" for chance in chances) if has_amounts else (),
        source=source,
    )


def _numbers(readings: Sequence[str]) -> Values:
    return tuple(float(reading) if reading else None for reading in readings)


def _joined(values: Sequence[float | None], unit: str) -> str:
    known = [f"{value:g}" for value in values if value is not None]
    return f"{'/'.join(known)} {unit}" if known else ""
