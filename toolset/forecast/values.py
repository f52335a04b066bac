"""Reads values of JSON in which any field may be absent, empty, a string or a number."""

from __future__ import annotations

import math
from typing import Any

TEXT_CAP = (
    200  # characters of a name or condition: comparing two names takes the product of their lengths
)


def reading(value: object) -> str:
    """A decimal number; empty where there is none."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return ""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return ""
    return (
        f"{number + 0.0:g}" if math.isfinite(number) else ""
    )  # + 0.0 makes the service's "-0" a 0


def integer(value: object) -> int | None:
    """The nearest whole number; None where there is no number."""
    number = reading(value)
    return round(float(number)) if number else None


def text(value: object) -> str:
    """A bounded text; empty where there is none."""
    return value[:TEXT_CAP].strip() if isinstance(value, str) else ""


def entries(value: object) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
