"""Reads values of decoded JSON, of which any may be missing or of another type."""

from __future__ import annotations

from typing import Any


def as_object(value: object) -> dict[str, Any]:
    """The value, or an empty object if it is none."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value, or an empty list if it is none."""
    return value if isinstance(value, list) else []


def entries(value: object) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [entry for entry in as_list(value) if isinstance(entry, dict)]
