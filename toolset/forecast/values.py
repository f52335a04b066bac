"""Reads values of JSON in which any field may be absent, empty, a string or a number."""

from __future__ import annotations

import math


def reading(value: object) -> str:
    """A decimal number; empty where there is none."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return ""
    if not math.isfinite(number):
        return ""
    # The sum makes the service's "-0" a 0.
    return f"{number + 0.0:g}"


def integer(value: object) -> int | None:
    """The nearest whole number; None where there is no number."""
    number = reading(value)
    return round(float(number)) if number else None
