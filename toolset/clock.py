"""``get_current_time``: the date and time now, anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError


class GetCurrentTime(Tool):
    """The time in a zone, by default the user's.

    Args:
        now: the current moment, with its zone.
    """

    name = "get_current_time"
    description = (
        "Date, weekday and time now, the user's or in a `time_zone`. Use it for the time or date, "
        "and before reckoning with dates ('in three days')."
    )
    risk = "low"
    public = True
    titles = words(en="Time and date", ja="日時")
    commands = ("time", "時刻")

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Read the clock.

        Raises:
            ToolError: the zone is unknown; the text suggests one.
        """
        name = arguments.get("time_zone") or context.time_zone or "UTC"
        zone = _zone(name)
        if zone is None:
            raise ToolError(await asyncio.to_thread(_suggestion, name))
        now = self._now().astimezone(zone)
        return {
            "datetime": now.isoformat(timespec="seconds"),
            "date": f"{now:%Y-%m-%d}",
            "weekday": f"{now:%A}",
            "time": f"{now:%H:%M}",
            "time_zone": name,
            "utc_offset": now.isoformat(timespec="seconds")[19:],
        }


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, not a relative path, or a folder of zones
        return None


def _suggestion(name: str) -> str:
    """An error text with a similar zone; reads the list of zones from disk."""
    city = name.rpartition("/")[2].strip().replace(" ", "_").casefold()
    zones = {
        zone.rpartition("/")[2].casefold(): zone
        for zone in sorted(available_timezones())
        if "/" in zone
    }
    near = [zones[match] for match in get_close_matches(city, zones, n=2, cutoff=0.8)]
    fix = (
        f"Did you mean {' or '.join(near)}?"
        if near
        else "Use an IANA name such as Asia/Tokyo or America/New_York."
    )
    return f"unknown time zone: {name}. {fix}"
