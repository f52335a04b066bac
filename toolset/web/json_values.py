"""Reads values of decoded JSON, of which any may be missing or of another type."""

from __future__ import annotations

from collections.abc import Mapping
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


def filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """An object without what is empty, false or unknown."""
    return {name: value for name, value in values.items() if value}


def target_of(ref: object, root: Any) -> Any:
    """What a reference such as ``#/$defs/place`` leads to in a document; None where it leads out of
    it or nowhere."""
    if not isinstance(ref, str) or not ref.startswith("#"):
        return None
    here = root
    for step in ref[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict):
            here = here.get(name)
        elif isinstance(here, list) and name.isdecimal() and len(name) < 6:
            here = dict(enumerate(here)).get(int(name))
        else:
            return None
    return here
