"""``kaiwa feedback``: what people think, for the operator."""

from __future__ import annotations

import asyncio
import json

import pytest

from bot.app.storage import open_store_of
from bot.clock import Days
from bot.features.feedback.report import Line, report, rows
from bot.features.feedback.store import Rating, Ratings
from bot.settings import load
from bot.store import Store
from bot.store.keys import person_of
from tests.bot.command_line import Call

pytestmark = pytest.mark.usefixtures("restored_logging", "settings")


async def rate(store: Store, day: str, *given: tuple[str, str, str, bool]) -> None:
    """Ratings: person, model, place, good."""
    for number, (person, model, place, good) in enumerate(given):
        rating = Rating(day, f"turn_{number}", place, model, good, number)
        assert await Ratings(store).keep(person_of(place, person), rating)


async def test_a_report_counts_by_day_model_and_channel(store: Store) -> None:
    """The newest day first; a day without ratings has no line."""
    days = Days("UTC", lambda: 1_795_300_000.0).latest(3)
    await rate(
        store,
        days[0],
        ("U1", "b", "slack:T1:C1", True),
        ("U2", "b", "slack:T1:D1", True),
        ("U1", "a", "line:U0:user:U1", False),
    )
    await rate(store, days[1], ("U1", "b", "slack:T1:C1", False))
    made = await report(store, days)
    assert made.lines == [
        Line(days[0], "a", "", "line", 0, 1),
        Line(days[0], "b", "", "slack", 2, 0),
        Line(days[1], "b", "", "slack", 0, 1),
    ]
    assert (made.good, made.bad, len(made.ratings)) == (2, 2, 4)
    assert next(rows(made.lines)) == (days[0], "a", "", "line", "0", "1")


async def rated_now(*given: tuple[str, str, str, bool]) -> str:
    """Have these ratings kept; today's name."""
    async with open_store_of(load()) as store:
        await rate(store, Days("UTC").today, *given)
    return Days("UTC").today


def test_the_command_prints_lines_and_the_sum(call: Call) -> None:
    """For a person; as JSON with every rating, and with no person."""
    today = asyncio.run(rated_now(("U1", "gemini", "slack:T1:C1", True)))
    code, out, err = call("feedback", "--days", "2")
    assert (code, out) == (0, f"{today}\tgemini\t\tslack\t1\t0\n")
    assert err == "1 good and 0 bad ratings in 2 days\n"
    code, out, _ = call("feedback", "--json")
    printed = json.loads(out)
    assert (code, printed["good"], printed["ratings"][0]["turn_id"]) == (0, 1, "turn_0")
    assert "U1" not in out


def test_without_ratings_it_says_so(call: Call) -> None:
    """And prints no table."""
    asyncio.run(rated_now())
    assert call("feedback") == (0, "", "0 good and 0 bad ratings in 7 days\n")
