"""Readings in the units of the United States."""

from __future__ import annotations

KM_OF_A_MILE = 1.609344


def in_fahrenheit(celsius: str) -> str:
    """A reading in Fahrenheit; empty where there is none."""
    return f"{float(celsius) * 9 / 5 + 32:.0f}" if celsius else ""


def in_mph(kmh: str) -> str:
    """A reading in miles an hour; empty where there is none."""
    return f"{float(kmh) / KM_OF_A_MILE:.0f}" if kmh else ""
