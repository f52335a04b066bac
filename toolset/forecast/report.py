"""A report of the weather at a place, from whichever source; readings are decimal strings, empty
where unknown.

Those in Fahrenheit and miles are the source's own; they are empty where it has metric ones alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a report, in the source's names; empty where unknown."""

    area: str = ""
    region: str = ""
    country: str = ""

    def __str__(self) -> str:
        return ", ".join(
            dict.fromkeys(name for name in (self.area, self.region, self.country) if name)
        )


@dataclass(frozen=True, slots=True)
class Slot:
    """Some hours of a day, from ``hour`` on; chances in percent, None where unknown."""

    hour: int
    condition: str
    rain: int | None
    snow: int | None
    temp_c: str = ""
    precipitation_mm: str = ""
    wind_kmh: str = ""


@dataclass(frozen=True, slots=True)
class Day:
    """The forecast of one local date; ``sunrise`` and ``sunset`` as HH:MM."""

    date: date
    high_c: str
    low_c: str
    slots: tuple[Slot, ...]
    sunrise: str = ""
    sunset: str = ""
    precipitation_mm: str = ""
    wind_max_kmh: str = ""
    uv_index_max: str = ""
    high_f: str = ""
    low_f: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """One response.

    Attributes:
        observed: local time.
        source: who the data is from.
        note: what is open about the place or the forecast.
    """

    place: Place
    observed: datetime | None
    condition: str
    temp_c: str
    feels_like_c: str
    humidity: str
    wind_kmh: str
    wind_direction: str
    days: tuple[Day, ...]
    source: str = ""
    note: str = ""
    temp_f: str = ""
    feels_like_f: str = ""
    wind_mph: str = ""
