"""Text lengths in UTF-16 code units, as LINE and Slack count them."""

from __future__ import annotations


def units(text: str) -> int:
    """The length of a text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def fits(text: str, limit: int) -> bool:
    """Whether a text has at most ``limit`` units; a text with more characters is not encoded."""
    return len(text) <= limit and units(text) <= limit


def head(text: str, limit: int) -> str:
    """The longest beginning of at most ``limit`` units; a character is never cut in two."""
    beginning = text[:limit]
    while (
        excess := units(beginning) - limit
    ) > 0:  # a character has two units at most, so never too many are dropped
        beginning = beginning[: -((excess + 1) // 2)]
    return beginning


def shortened(text: str, most: int) -> str:
    """The text in at most so many units, with a mark where it was cut."""
    return text if fits(text, most) else f"{head(text, most - 1)}…"
