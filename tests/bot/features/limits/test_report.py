"""``kaiwa usage``: tokens and estimated money, for the operator."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from bot.app.storage import open_store_of
from bot.clock import Days
from bot.features.limits.report import Heavy, Line, report, rows
from bot.prices import Price, load_prices
from bot.settings import load
from bot.store import Store
from bot.transcript import Author, Spending, Usage
from tests.bot.command_line import Call
from tests.bot.features.limits.budgets_harness import Clock, make_budgets

TODAY, YESTERDAY = "2026-11-21", "2026-11-20"
pytestmark = pytest.mark.usefixtures("restored_logging", "settings")
GROUP = "line:Ubot00000:group:C1234567890"


MODEL, LITE = "gemini-2.5-flash", "gemini-2.5-flash-lite-preview-09-2025"


async def spend(
    store: Store, model: str, usage: Usage, user: str, clock: Clock, searches: int = 0
) -> None:
    """A turn of one response."""
    budgets = make_budgets(store, clock=clock)
    budgets.spend(GROUP, Spending(model, usage, Author(user), 2, is_first=True, searches=searches))
    await budgets.flush()


async def test_accounts_with_names_alike_are_told_apart(store: Store) -> None:
    """Even if people have the same ids there."""
    budgets, person = make_budgets(store), Author("Uabcdef1234567890")
    spending = Spending("made-up", Usage(5), person, 1, is_first=True)
    for account in ("tokyo-shop", "osaka-shop"):
        budgets.spend(f"line@{account}:U1:user:{person.id}", spending)
    await budgets.flush()
    made = await report(store, [TODAY], load_prices())
    assert {one.name for one in made.users} == {
        "line@tokyo-shop:Uab…890",
        "line@osaka-shop:Uab…890",
    }


async def test_a_report_tells_tokens_and_money_by_day_and_model(store: Store) -> None:
    """Cached input costs less, thinking is output, a model without a price has no money, searches
    are not in it. People's tokens are those that limits count."""
    clock = Clock()
    million = 1_000_000
    await spend(
        store,
        "gemini-2.5-flash",
        Usage(million, million // 2, 100_000, 100_000),
        "U1",
        clock,
        searches=3,
    )
    await spend(store, "made-up", Usage(5, 0, 5), "Uabcdef1234567890", clock)
    clock.now -= 86_400
    await spend(store, "gemini-2.5-flash-lite-preview-09-2025", Usage(million), "U1", clock)
    made = await report(store, [TODAY, YESTERDAY, "2026-11-19"], load_prices())
    assert made.lines == [
        Line(
            TODAY, "gemini-2.5-flash", "", 1, 2, million, million // 2, 100_000, 100_000, 3, 0.665
        ),
        Line(TODAY, "made-up", "", 1, 2, 5, 0, 5, 0, 0, None),
        Line(
            YESTERDAY, "gemini-2.5-flash-lite-preview-09-2025", "", 1, 2, million, 0, 0, 0, 0, 0.1
        ),
    ]
    assert made.usd == 0.765
    assert made.users == [Heavy("line:U1", 1_750_000), Heavy("line:Uab…890", 10)]
    assert made.conversations == [Heavy("line:Ubo…000:group:C12…890", 1_750_010)]
    assert list(rows(made.lines))[:2] == [
        (
            TODAY,
            "gemini-2.5-flash",
            "",
            "1",
            "2",
            "1,000,000",
            "500,000",
            "100,000",
            "100,000",
            "3",
            "0.6650",
        ),
        (TODAY, "made-up", "", "1", "2", "5", "0", "5", "0", "0", ""),
    ]


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("gemini-2.5-flash", "gemini-2.5-flash"),
        ("gemini-2.5-flash-001", "gemini-2.5-flash"),
        ("gemini-3-flash-preview", "gemini-3-flash"),
        ("gemini-2.5-flash-image", ""),
        ("gemini-flash-latest", ""),
    ],
)
def test_a_version_has_the_price_of_its_model(model: str, known: str) -> None:
    """A model that only begins alike has none: a wrong price is worse than no price."""
    prices = load_prices()
    assert prices.of(model) == prices.models.get(known)


def test_the_prices_say_where_they_come_from() -> None:
    """They are estimates with a date; what is cached is cheaper, what is said is dearer."""
    prices = load_prices()
    assert prices.source.startswith("https://")
    assert len(prices.as_of.split("-")) == 3
    assert all(0 < price.cached < price.input < price.output for price in prices.models.values())
    assert prices.models["gemini-2.5-flash"] == Price(0.3, 0.03, 2.5)


async def spent_now(*models: str) -> str:
    """Have a turn of each model end now; today's name."""
    async with open_store_of(load()) as store:
        clock = Clock(time.time())
        for model in models:
            await spend(store, model, Usage(2_000_000, 0, 100_000), "U1", clock)
        return Days("UTC", clock).today


def test_the_command_prints_lines_for_a_person(call: Call) -> None:
    """A line a day and model, the heaviest below, the money beside."""
    today = asyncio.run(spent_now("gemini-2.5-flash", "made-up"))
    code, out, err = call("usage", "--days", "2")
    assert (code, out.splitlines()) == (
        0,
        [
            f"{today}\tgemini-2.5-flash\t\t1\t2\t2,000,000\t0\t100,000\t0\t0\t0.8500",
            f"{today}\tmade-up\t\t1\t2\t2,000,000\t0\t100,000\t0\t0\t",
            "",
            "user\tline:U1\t4,200,000",
            "conversation\tline:Ubo…000:group:C12…890\t4,200,000",
        ],
    )
    prices = load_prices()
    assert (
        err
        == f"about 0.85 USD in 2 days, estimated with prices of {prices.as_of} ({prices.source})\n"
    )


def test_the_command_prints_json_for_a_program(call: Call) -> None:
    """The same in full."""
    today = asyncio.run(spent_now("gemini-2.5-flash"))
    code, out, err = call("usage", "--json")
    made = json.loads(out)
    assert (code, err, made["usd"], made["prices_as_of"]) == (0, "", 0.85, load_prices().as_of)
    assert (made["lines"][0]["day"], made["lines"][0]["turns"]) == (today, 1)
    assert made["users"] == [{"name": "line:U1", "tokens": 2_100_000}]


def test_nothing_used_is_nothing_to_show(call: Call) -> None:
    """No line, no money."""
    asyncio.run(spent_now())
    code, out, err = call("usage")
    assert (code, out) == (0, "")
    assert err.startswith("about 0.00 USD in 7 days")


@pytest.mark.parametrize("days", ["0", "36", "many"])
def test_days_that_are_not_kept_are_refused(call: Call, days: str) -> None:
    """From 1 to 35."""
    code, out, err = call("usage", "--days", days)
    assert (code, out) == (2, "")
    assert "--days" in err
