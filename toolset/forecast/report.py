"""A report of the weather at a place, from whichever source; readings are decimal strings, empty
where unknown.

Those in Fahrenheit and miles are the source's own; they are empty where it has metric ones alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime

# Of a place's name and its regions; blanks, too, between words of other letters than ASCII.
SEPARATORS = re.compile(r"[,、()]|(?<=[^\x00-\x7f])\s+(?=[^\x00-\x7f])")


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


KM_OF_A_MILE = 1.609344


def in_fahrenheit(celsius: str, own: str = "") -> str:
    """A reading in Fahrenheit; empty where there is none.

    Args:
        own: what the source itself gives in Fahrenheit, which is more precise than a conversion of
            a rounded reading.
    """
    return own or (f"{float(celsius) * 9 / 5 + 32:.0f}" if celsius else "")


def in_mph(kmh: str, own: str = "") -> str:
    """The same in miles an hour."""
    return own or (f"{float(kmh) / KM_OF_A_MILE:.0f}" if kmh else "")


def pieces_of(asked: str) -> list[str]:
    """The place's name and the regions or countries written with it, as in Paris, Texas."""
    return [piece.strip() for piece in SEPARATORS.split(asked) if piece.strip()]


def ambiguous_note(asked: str, regions: str, found: Place) -> str:
    """For the model: several places have the name."""
    return (
        f"{asked} may be the one in {regions} or elsewhere; this is for {found}. "
        "Unless the user has said which is meant, ask."
    )


def dissimilar_note(asked: str, found: Place) -> str:
    """For the model: the place that was found has another name or region."""
    return (
        f"{asked} was found at {found}. If that is not in or near the place the user means, ask "
        "which is meant."
    )
