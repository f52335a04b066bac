"""Text from people, models and services, as others may see it."""

from __future__ import annotations


def one_line(text: str, allowed: str = "") -> str:
    """The text with single spaces and without invisible characters.

    Args:
        allowed: invisible characters that stay.
    """
    spaced = " ".join(text.split())
    return "".join(
        character for character in spaced if character.isprintable() or character in allowed
    )
