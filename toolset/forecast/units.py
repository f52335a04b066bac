"""Readings in the units of the United States."""

from __future__ import annotations

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
