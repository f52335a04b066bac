"""Reads values of JSON in which any field may be absent, empty, a string or a number."""

from __future__ import annotations

import math

# Characters of a name or condition: comparing two names takes the product of their lengths.
TEXT_CAP = 200


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


def text(value: object) -> str:
    """A bounded text; empty where there is none."""
    return value[:TEXT_CAP].strip() if isinstance(value, str) else ""
