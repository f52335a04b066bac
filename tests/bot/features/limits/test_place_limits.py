"""What a place may spend in a day, which all its conversations share."""

from __future__ import annotations

import structlog

from bot.alerts import Alerts
from bot.clock import Days
from bot.features.limits.budgets import Budgets, Excess
from bot.features.limits.settings import Config
from bot.place import AS_EVERYWHERE, PlaceLimit, PlaceSettings
from bot.prices import MILLION
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from bot.transcript import Author, Spending, Usage
from tests.bot.features.limits.budgets_harness import Clock
from tests.bot.harness import UNLIMITED
from tests.waiting import until

MODEL = "gemini-2.5-flash"  # 0.30 dollars for a million tokens of input
SHOP = PlaceSettings(
    limits=(
        PlaceLimit("shop", "tokens", 1_000, "places.toml:4"),
        PlaceLimit("shop", "dollars", 90, "places.toml:5"),
    )
)
WIDE = PlaceSettings(limits=(PlaceLimit("wide", "dollars", MILLION, "places.toml:9"),))


def settings_of(conversation: str, person: str) -> PlaceSettings:
    """Two channels belong to the shop."""
    if conversation.startswith("slack:T:C"):
        return SHOP
    return WIDE if conversation.startswith("slack") else AS_EVERYWHERE


def budgets_on(store: Store) -> Budgets:
    """Budgets without other limits, whose alerts go to the log."""
    days = Days("UTC", Clock())
    alerts, config = Alerts(store, load(), days, "en"), Config.model_validate(UNLIMITED)
    return Budgets(store, config, days, alerts, Metrics(), settings_of)


async def spent(budgets: Budgets, conversation: str, tokens: int, person: str = "u1") -> None:
    """Spend tokens of input there, and wait until they are counted."""
    spending = Spending(MODEL, Usage(tokens), Author(person), 1, is_first=True)
    budgets.spend(conversation, spending)
    await budgets.flush()


async def test_a_place_is_refused_when_its_day_is_spent(store: Store) -> None:
    """By tokens or dollars, in each of its conversations and nowhere else."""
    budgets = budgets_on(store)
    await spent(budgets, "slack:T:C1:1.1", 290)
    assert (await budgets.admit("t1", "slack:T:C2:1.1", {"u2": 1}))[0] == {}
    await spent(budgets, "slack:T:C2:1.1", 10, "u2")
    for number, place in enumerate(("slack:T:C1:1.1", "slack:T:C2:2.2", "slack:T:C3:3.3")):
        refused, _ = await budgets.admit(f"r{number}", place, {"u3": 1})
        assert refused == {"u3": Excess("place", "dollars", 90)}
    assert budgets.limit(Excess("place", "dollars", 90)) == 90
    for number, place in enumerate(("slack:T:D1", "line:bot:user:u3")):
        assert (await budgets.admit(f"a{number}", place, {"u3": 1}))[0] == {}
    await spent(budgets, "slack:T:C1:1.1", 700)
    refused, _ = await budgets.admit("r9", "slack:T:C1:1.1", {"u3": 1})
    assert refused == {"u3": Excess("place", "tokens", 1_000)}


async def test_the_operator_is_told_at_three_quarters_and_near_the_end(store: Store) -> None:
    """Once each, in whatever process; also that it is spent."""
    budgets, other = budgets_on(store), budgets_on(store)
    with structlog.testing.capture_logs() as lines:

        def told() -> list[str]:
            return [line["cause"] for line in lines if line["event"] == "alert.raised"]

        for tokens, causes in (
            (200, []),
            (25, ["place_spent_75"]),
            (10, ["place_spent_75"]),
            (52, ["place_spent_75", "place_spent_95"]),
            (20, ["place_spent_75", "place_spent_95", "place_spent_100"]),
            (20, ["place_spent_75", "place_spent_95", "place_spent_100"]),
        ):
            await spent(budgets, "slack:T:C1:1.1", tokens)
            await until(lambda: told() == causes)  # noqa: B023 -- it is awaited here
        notices = [line["notice"] for line in lines if line["event"] == "alert.raised"]
    assert "(places.toml:5: 0.00 USD / 0.00 USD)" in notices[0]
    assert await other.used("slack:T:C1:1.1", "u1") == await budgets.used("slack:T:C1:1.1", "u1")
