"""The clock of this process, and calendar days in the bot's time zone."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

HOUR_S = 3_600
DAY_S = 86_400


def now_ms() -> int:
    """Milliseconds since the epoch by this process's clock; never compare them between
    processes."""
    return time.time_ns() // 1_000_000


class Days:
    """The calendar of limits and alerts.

    Processes with different clocks begin a day at different moments; counts in between go to either
    day.

    Args:
        time_zone: IANA name.
        clock: seconds since the epoch.
    """

    def __init__(self, time_zone: str, clock: Callable[[], float] = time.time) -> None:
        self._zone = ZoneInfo(time_zone)
        self._clock = clock

    @property
    def today(self) -> str:
        """Today, such as ``2026-11-21``."""
        return datetime.fromtimestamp(self._clock(), self._zone).date().isoformat()

    @property
    def end(self) -> datetime:
        """The midnight that ends today, in the bot's zone."""
        tomorrow = datetime.fromisoformat(self.today) + timedelta(days=1)
        return tomorrow.replace(tzinfo=self._zone)

    def of(self, at_ms: int) -> str:
        """The day of a time, milliseconds since the epoch; of a time to come, today."""
        at = min(at_ms / 1000, self._clock())
        return datetime.fromtimestamp(at, self._zone).date().isoformat()

    def latest(self, count: int) -> list[str]:
        """Today and the days before it, the newest first."""
        today = date.fromisoformat(self.today)
        return [f"{today - timedelta(days=back)}" for back in range(count)]


def usable_zone(name: str, default: str) -> str:
    """The author's time zone if it is a valid IANA name, else the default."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return default
    return name
