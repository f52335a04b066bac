"""Budgets without conversations, and a clock that stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.alerts import Alerts
from bot.clock import Days
from bot.features.limits.budgets import Balance, Budgets
from bot.features.limits.settings import Config
from bot.pipeline.services import Services
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from tests.bot.harness import HERE, UNLIMITED, Harness

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()


@dataclass
class Clock:
    """Seconds since the epoch, as the test sets them."""

    now: float = NOON

    def __call__(self) -> float:
        return self.now


def limits_of(**limits: int) -> dict[str, int]:
    """Settings with these limits alone."""
    return UNLIMITED | {f"daily_{name}": most for name, most in limits.items()}


def make_budgets(
    store: Store, limits: Mapping[str, int] = UNLIMITED, clock: Clock | None = None
) -> Budgets:
    """Budgets whose alerts go to the log."""
    days = Days("UTC", clock or Clock())
    return Budgets(
        store, Config.model_validate(limits), days, Alerts(store, load(), days, "en"), Metrics()
    )


def budgets_of(services: Services, limits: Mapping[str, int] = UNLIMITED) -> Budgets:
    """Other budgets on the same store, by the same calendar."""
    config = Config.model_validate(limits)
    return Budgets(services.store, config, services.days, services.alerts, services.metrics)


async def used(
    harness: Harness, author: str = "u1", limits: Mapping[str, int] = UNLIMITED
) -> list[Balance]:
    """What somebody and the conversation have used."""
    return await budgets_of(harness.runner.services, limits).used(HERE, author)
