"""UTF-16 code units: what LINE and Slack measure a text in."""

from __future__ import annotations


def units(text: str) -> int:
    """The length of a text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def fits(text: str, limit: int) -> bool:
    """Whether a text has at most ``limit`` units; of a long one little is looked at."""
    return len(text) <= limit and units(text) <= limit


def head(text: str, limit: int) -> str:
    """The longest beginning of at most ``limit`` units; a character is never cut in two."""
    return text[:limit].encode("utf-16-le", "surrogatepass")[: limit * 2].decode("utf-16-le", "ignore")
