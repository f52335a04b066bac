"""The bot's calendar."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.clock import Days


def at(time_zone: str, moment: str) -> Days:
    """The calendar at a moment of UTC."""
    return Days(time_zone, datetime.fromisoformat(f"{moment}+00:00").timestamp)


def test_a_day_is_that_of_the_bots_zone() -> None:
    """In Tokyo the new day begins nine hours earlier, and ends there."""
    days = at("Asia/Tokyo", "2026-11-21T15:00")
    assert days.today == "2026-11-22"
    assert days.end.astimezone(UTC) == datetime(2026, 11, 22, 15, tzinfo=UTC)
    assert at("UTC", "2026-11-21T15:00").today == "2026-11-21"


def test_a_day_of_25_hours_ends_at_midnight() -> None:
    """Clocks are set back in Berlin."""
    end = at("Europe/Berlin", "2026-10-25T00:30").end
    assert (end.isoformat(), end.astimezone(UTC).hour) == ("2026-10-26T00:00:00+01:00", 23)


def test_a_time_to_come_is_of_today() -> None:
    """Also one that no calendar has; an earlier one has its own day."""
    days = at("Asia/Tokyo", "2026-11-21T15:00")
    assert days.of(999_999_999_999_999) == "2026-11-22"
    assert days.of(1_795_186_800_000 - 1) == "2026-11-20"


def test_the_latest_days_are_the_newest_first() -> None:
    """Across the end of a month."""
    assert at("UTC", "2026-03-01T12:00").latest(3) == ["2026-03-01", "2026-02-28", "2026-02-27"]
