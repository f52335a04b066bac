"""Ratings are counted by the day of their answer, whatever channel passes the press on."""

from __future__ import annotations

import pytest

from bot.channels import InboundEvent
from bot.clock import now_ms
from bot.features.feedback.store import Rating, Ratings
from bot.store import Store
from tests.bot.harness import HERE, UTC, Harness, words


def press(action: str, answered_at: int, press_id: str = "m1", author: str = "u1") -> InboundEvent:
    """A press of a button below an answer."""
    value = f"{answered_at}:turn_1:gemini"
    message = words(press_id, "", author)
    return InboundEvent(message, event="action", action=f"feedback.{action}", target=value)


async def test_any_channel_can_pass_a_rating_on(store: Store) -> None:
    """It is kept without the person, on the day of the answer in the bot's time zone."""
    harness, answered_at = Harness(store, []), now_ms()
    assert await harness.intake(HERE, press("good", answered_at))
    assert not await harness.intake(HERE, press("good", answered_at))
    (kept,) = await Ratings(store).read([UTC.of(answered_at)])
    assert kept == Rating(UTC.of(answered_at), "turn_1", HERE, "gemini", True, kept.at)
    shown = harness.metrics.exposition()
    assert b'kaiwa_feedback_total{channel="mailbox",model="gemini",rating="good"} 1.0' in shown


@pytest.mark.parametrize(("author", "age_days"), [("", 0), ("u1", 91)])
async def test_nobody_and_old_answers_do_not_count(
    store: Store, author: str, age_days: int
) -> None:
    """The other ratings of such an answer are gone already."""
    answered_at = now_ms() - age_days * 86_400_000
    assert not await Harness(store, []).intake(HERE, press("good", answered_at, author=author))


async def test_an_answer_of_a_clock_ahead_is_todays(store: Store) -> None:
    """Platforms have clocks of their own."""
    assert await Harness(store, []).intake(HERE, press("good", now_ms() + 5 * 86_400_000))
    assert len(await Ratings(store).read([UTC.today])) == 1
