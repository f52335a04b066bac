"""``kaiwa feedback``: what people think, for the operator."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable

import pytest
from redis.asyncio import Redis

from bot.channels import Rating
from bot.cli.main import main
from bot.clock import Days
from bot.conversation.feedback import Feedback
from bot.ops.feedback import Line, report, rows
from bot.store import Store, open_store
from bot.telemetry import Metrics

HOUR_MS = 3_600_000
Call = Callable[..., tuple[int, str, str]]


async def rate(store: Store, at_ms: int, *given: tuple[str, str, str, bool]) -> None:
    """Ratings: person, model, place, good."""
    feedback = Feedback(store, Metrics(), Days("UTC", lambda: at_ms / 1000))
    for number, (person, model, place, good) in enumerate(given):
        assert await feedback(Rating(f"turn_{number}", place, person, model, good, at_ms, at_ms))


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


@pytest.fixture
def call(
    valkey_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], restored_logging: None
) -> Call:
    """Run ``kaiwa feedback``: exit code, output, errors."""
    monkeypatch.setenv("REDIS_URL", valkey_url)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kaiwa", "feedback", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return ended.value.code, *capsys.readouterr()

    return call


async def rated_now(url: str, *given: tuple[str, str, str, bool]) -> str:
    """Begin with an empty store and these ratings; today's name."""
    async with Redis.from_url(url) as redis:
        await redis.flushall()
    async with open_store(url, history_days=1) as store:
        await rate(store, time.time_ns() // 1_000_000, *given)
    return Days("UTC").today


def test_the_command_prints_lines_and_the_sum(call: Call, valkey_url: str) -> None:
    """For a person; as JSON with every rating, and with no person."""
    today = asyncio.run(rated_now(valkey_url, ("U1", "gemini", "slack:T1:C1", True)))
    assert call("--days", "2") == (0, f"{today}\tgemini\tslack\t1\t0\n", "1 good and 0 bad ratings in 2 days\n")
    code, out, _ = call("--json")
    printed = json.loads(out)
    assert (code, printed["good"], printed["ratings"][0]["turn_id"]) == (0, 1, "turn_0")
    assert "U1" not in out


def test_without_ratings_it_says_so(call: Call, valkey_url: str) -> None:
    """And prints no table."""
    asyncio.run(rated_now(valkey_url))
    assert call() == (0, "", "0 good and 0 bad ratings in 7 days\n")
