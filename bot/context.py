"""The line that stands before a user's words when a model reads them: when, where, and in groups who."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from bot.channels import Arrival

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
UNSAFE = re.compile(r"[\x00-\x1f\x7f\[\]]+")
NAME_CAP = 50  # characters of a display name


def context_line(arrival: Arrival, channel: str, time_zone: str) -> str:
    """``[Saturday 2026-11-21 21:57 Asia/Tokyo, line, group, from Hanako]``.

    The same bytes for the same arrival, so that a model's prompt cache holds; a name cannot break out of the brackets.
    """
    author = arrival.message.author
    at = datetime.fromtimestamp(arrival.message.at / 1000, ZoneInfo(time_zone))
    words = [f"{WEEKDAYS[at.weekday()]} {at:%Y-%m-%d %H:%M} {time_zone}", channel, "group" if arrival.group else "1:1"]
    if arrival.group and author and author.name:
        words.append(f"from {UNSAFE.sub(' ', author.name)[:NAME_CAP].strip()}")
    return f"[{', '.join(words)}]"


def usable_zone(name: str, default: str) -> str:
    """An author's time zone where it is one, else the default: platforms and browsers send anything."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return default
    return name
