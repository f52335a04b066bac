"""Parser of a unit as people write it: a name, or a product of names with small powers. Nothing is
evaluated.

km/h, m², kg*m/s^2, sq ft, 平方メートル, miles per hour
"""

from __future__ import annotations

import re
import unicodedata

from toolset.measures.definitions import AREAS_AND_VOLUMES, JAPANESE_POWERS, POWERS
from toolset.tool import ToolError

MAX_LENGTH = 60  # characters
MAX_FACTORS = 6
OPERATOR = re.compile(r"([*/·⋅・×]|\bper\b)")
FACTOR = re.compile(r"(°?[^\W\d]+|[%°])\^?(-?[1-9])?")

Factors = tuple[tuple[str, int], ...]  # names and powers


def factors(text: str) -> Factors:
    """The names of a unit, as they are written, each with its power.

    Raises:
        ToolError: it is no unit; the text says what one looks like.
    """
    written = " ".join(unicodedata.normalize("NFKC", text).split())
    first, *others = OPERATOR.split(written.replace("**", "^").replace("−", "-"))
    if len(text) > MAX_LENGTH or len(others) > 2 * (MAX_FACTORS - 1):
        raise _refusal(text)
    found = [_factor(first, text)]
    for operator, factor in zip(others[::2], others[1::2], strict=True):
        name, power = _factor(factor, text)
        found.append((name, -power if operator in ("/", "per") else power))
    return tuple(found)


def _factor(written: str, text: str) -> tuple[str, int]:
    """One name with its power; words of a name are joined as pint does."""
    power = 1
    words = written.split()
    while len(words) > 1 and words[0].casefold() in POWERS:
        power *= POWERS[words.pop(0).casefold()]
    match = FACTOR.fullmatch("_".join(words))
    if match is None:
        raise _refusal(text)
    name, exponent = match[1], int(match[2] or 1)
    for word, meant in JAPANESE_POWERS.items():
        if name.startswith(word) and name != word:
            name, power = name.removeprefix(word), power * meant
    name, implied = AREAS_AND_VOLUMES.get(name, (name, 1))
    return name, power * exponent * implied


def _refusal(text: str) -> ToolError:
    shown = text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…"
    return ToolError(
        f"not a unit: {shown}. Write one unit without a number, such as km, degC, 坪, km/h or "
        "kg*m/s^2"
    )
