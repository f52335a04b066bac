"""What a place may spend in a day, which all its conversations share."""

from __future__ import annotations

from functools import partial

from bot.alerts import Alerts
from bot.channels import AS_EVERYWHERE, InboundEvent, PlaceLimit, PlaceSettings
from bot.clock import Days
from bot.features.limits.budgets import Budgets, Excess
from bot.features.limits.sentences import Sentences
from bot.features.limits.settings import Config
from bot.prices import MILLION
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from bot.transcript import Author, Message, Spending, Text, Usage
from tests.bot.features.limits.budgets_harness import Clock
from tests.bot.harness import UNLIMITED, Harness
from tests.bot.test_alerts import notices
from tests.waiting import until_true

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


def budgets_on(store: Store, alerts: Alerts | None = None) -> Budgets:
    """Budgets without other limits, whose alerts go to the log."""
    days, config = Days("UTC", Clock()), Config.model_validate(UNLIMITED)
    alerts = alerts or Alerts(store, load(), days, "en")
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
    harness = Harness(store, [], alert_to="mailbox:OPS")
    alerts = harness.runner.services.alerts
    budgets, other = budgets_on(store, alerts), budgets_on(store, alerts)
    told: list[str] = []
    for tokens, shares in ((200, 0), (25, 1), (10, 1), (52, 2), (20, 3), (20, 3)):
        for each in (budgets, other):
            await spent(each, "slack:T:C1:1.1", tokens // 2)
        await until_true(partial(_are_told, store, harness, shares, told))
    assert [text.partition(" %")[0] for text in told[:2]] == ["75", "95"]
    assert "(places.toml:5: " in told[2]
    assert all("kaiwa places" in text for text in told)


async def test_a_limit_that_is_raised_is_told_again(store: Store) -> None:
    """Though the first one was told the same day."""
    harness, told = Harness(store, [], alert_to="mailbox:OPS"), list[str]()
    days, config = Days("UTC", Clock()), Config.model_validate(UNLIMITED)
    alerts, metrics = harness.runner.services.alerts, Metrics()
    for most, number in ((100, 1), (1_000, 1), (120, 2)):
        place = PlaceSettings(limits=(PlaceLimit("shop", "tokens", most, "places.toml:4"),))
        set_to = partial(_given, place)
        await spent(Budgets(store, config, days, alerts, metrics, set_to), "slack:T:C1", 60)
        await spent(Budgets(store, config, days, alerts, metrics, set_to), "slack:T:C1", 60)
        await until_true(partial(_are_told, store, harness, number, told))


def _given(place: PlaceSettings, _conversation: str, _person: str) -> PlaceSettings:
    return place


async def test_a_refusal_names_dollars(store: Store) -> None:
    """Not their millionths."""
    sentences = Sentences(Harness(store, []).runner.services)
    event = InboundEvent(Message("m1", "user", (Text("Hi"),), 1, Author("u1")))
    reply = sentences.refusal(Excess("place", "dollars", 1_500_000), 1_500_000, event)
    assert reply.failure == "the limit in dollars of one place and day is 1.50"


async def _are_told(store: Store, harness: Harness, number: int, told: list[str]) -> bool:
    told[:] = await notices(store, harness)
    return len(told) == number
