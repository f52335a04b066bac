"""Readers of decoded JSON in which any value may be missing or of another type."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from toolset.web.text import line

JST = timezone(timedelta(hours=9))


def moment(value: object) -> datetime | None:
    """A time with its zone, in Japan's; None for anything else."""
    try:
        parsed = datetime.fromisoformat(line(value))
        return parsed.astimezone(JST) if parsed.tzinfo else None
    except (ValueError, OverflowError):
        return None


def shown(time: datetime | None) -> str:
    """A time as a result has it; empty where unknown."""
    return time.isoformat(timespec="minutes") if time else ""
