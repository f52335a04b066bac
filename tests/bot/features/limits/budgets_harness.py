"""Budgets without conversations, and a clock that stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from bot.clock import Days
from bot.features.limits.budgets import Balance, Budgets
from bot.pipeline.alerts import Alerts
from bot.pipeline.services import Limits, Services
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from tests.bot.harness import HERE, Harness

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


def budgets_of(services: Services) -> Budgets:
    """Other budgets on the same store, by the same calendar."""
    return Budgets(
        services.store, services.limits, services.days, services.alerts, services.metrics
    )


async def used(harness: Harness, author: str = "u1") -> list[Balance]:
    """What somebody and the conversation have used."""
    return await budgets_of(harness.runner.services).used(HERE, author)
