"""``kaiwa feedback``: what people think, for the operator."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from bot.app.storage import open_store_of
from bot.clock import Days
from bot.features.feedback.ratings import Rating, Ratings
from bot.features.feedback.report import Line, report, rows
from bot.settings import load
from bot.store import Store
from bot.telemetry import Metrics
from tests.bot.command_line import Call

HOUR_MS = 3_600_000
pytestmark = pytest.mark.usefixtures("restored_logging", "settings")


async def rate(store: Store, at_ms: int, *given: tuple[str, str, str, bool]) -> None:
    """Ratings: person, model, place, good."""
    ratings = Ratings(store, Metrics(), Days("UTC", lambda: at_ms / 1000))
    for number, (person, model, place, good) in enumerate(given):
        assert await ratings.keep(
            Rating(f"turn_{number}", place, person, model, good, at_ms, at_ms)
        )


async def test_a_report_counts_by_day_model_and_channel(store: Store) -> None:
    """The newest day first; a day without ratings has no line."""
    now = 1_795_300_000_000
    days = Days("UTC", lambda: now / 1000).latest(3)
    await rate(
        store,
        now,
        ("U1", "b", "slack:T1:C1", True),
        ("U2", "b", "slack:T1:D1", True),
        ("U1", "a", "line:U0:user:U1", False),
    )
    await rate(store, now - 24 * HOUR_MS, ("U1", "b", "slack:T1:C1", False))
    made = await report(store, days)
    assert made.lines == [
        Line(days[0], "a", "line", 0, 1),
        Line(days[0], "b", "slack", 2, 0),
        Line(days[1], "b", "slack", 0, 1),
    ]
    assert (made.good, made.bad, len(made.ratings)) == (2, 2, 4)
    assert next(rows(made.lines)) == (days[0], "a", "line", "0", "1")


async def rated_now(*given: tuple[str, str, str, bool]) -> str:
    """Have these ratings kept; today's name."""
    async with open_store_of(load()) as store:
        await rate(store, time.time_ns() // 1_000_000, *given)
    return Days("UTC").today


def test_the_command_prints_lines_and_the_sum(call: Call) -> None:
    """For a person; as JSON with every rating, and with no person."""
    today = asyncio.run(rated_now(("U1", "gemini", "slack:T1:C1", True)))
    code, out, err = call("feedback", "--days", "2")
    assert (code, out) == (0, f"{today}\tgemini\tslack\t1\t0\n")
    assert err == "1 good and 0 bad ratings in 2 days\n"
    code, out, _ = call("feedback", "--json")
    printed = json.loads(out)
    assert (code, printed["good"], printed["ratings"][0]["turn_id"]) == (0, 1, "turn_0")
    assert "U1" not in out


def test_without_ratings_it_says_so(call: Call) -> None:
    """And prints no table."""
    asyncio.run(rated_now())
    assert call("feedback") == (0, "", "0 good and 0 bad ratings in 7 days\n")
