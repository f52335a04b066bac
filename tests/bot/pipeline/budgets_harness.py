"""Budgets without conversations, and a clock that stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from bot.clock import Days
from bot.pipeline.alerts import Alerts
from bot.pipeline.limits import Budgets, Limits
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()
UNLIMITED = Limits()


@dataclass
class Clock:
    """Seconds since the epoch, as the test sets them."""

    now: float = NOON

    def __call__(self) -> float:
        return self.now


def make_budgets(store: Store, limits: Limits = UNLIMITED, clock: Clock | None = None) -> Budgets:
    """Budgets whose alerts go to the log."""
    days = Days("UTC", clock or Clock())
    return Budgets(store, limits, days, Alerts(store, load(), days, "en"), Metrics())
