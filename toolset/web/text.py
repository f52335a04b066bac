"""Text from people, models and services, as others may see it."""

from __future__ import annotations

import unicodedata
from urllib.parse import urlsplit

LINE_CAP = 200  # characters: comparing two names takes the product of their lengths
NOT_IN_ADDRESSES = frozenset(' <>"')


def one_line(text: str, allowed: str = "") -> str:
    """The text with single spaces and without invisible characters.

    Args:
        allowed: invisible characters that stay.
    """
    spaced = " ".join(text.split())
    return "".join(
        character for character in spaced if character.isprintable() or character in allowed
    )


def line(value: object, cap: int = LINE_CAP) -> str:
    """A value of decoded JSON as a bounded text in one line; empty for anything but a text."""
    return one_line(value[: 2 * cap])[:cap].strip() if isinstance(value, str) else ""


def web_address(value: object, cap: int) -> str:
    """An address with http or https, and without a user's name; empty for anything else."""
    if not isinstance(value, str) or len(value) > cap or not value.isprintable():
        return ""
    try:
        parts = urlsplit(value)
        is_plain = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    except ValueError:
        return ""
    return value if is_plain and NOT_IN_ADDRESSES.isdisjoint(value) else ""


def folded(text: str) -> str:
    """Without case, accents and repeated spaces."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    letters = (character for character in decomposed if not unicodedata.combining(character))
    return " ".join("".join(letters).split())
