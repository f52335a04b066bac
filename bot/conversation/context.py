"""The line that stands before a user's words when a model reads them: when, where, and in groups who."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from bot.channels import InboundEvent
from bot.safe_text.names import safe_name

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def context_line(arrival: InboundEvent, channel: str, time_zone: str) -> str:
    """``[Saturday 2026-11-21 21:57 Asia/Tokyo, line, group, from Hanako]``.

    The same bytes for the same arrival, so that a model's prompt cache holds; a name can neither break out of the
    brackets nor imitate what stands between them.
    """
    author = arrival.message.author
    at = datetime.fromtimestamp(arrival.message.at / 1000, ZoneInfo(time_zone))
    words = [f"{WEEKDAYS[at.weekday()]} {at:%Y-%m-%d %H:%M} {time_zone}", channel, "group" if arrival.group else "1:1"]
    name = safe_name(author.name) if author else ""
    if arrival.group and name:
        words.append(f"from {name}")
    return f"[{', '.join(words)}]"


def usable_zone(name: str, default: str) -> str:
    """An author's time zone where it is one, else the default: platforms and browsers send anything."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return default
    return name
