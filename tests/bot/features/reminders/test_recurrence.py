"""Rules of RFC 5545 on the clock of a zone, and rules that are refused before anything looks for
their days."""

from __future__ import annotations

from datetime import UTC, datetime
from time import process_time
from zoneinfo import ZoneInfo

import pytest

from bot.features.reminders.recurrence import BadRuleError, next_time

BERLIN = ZoneInfo("Europe/Berlin")
UTC_ZONE = ZoneInfo("UTC")


def coming(rule: str, start: str, after: str, count: int = 1) -> list[str]:
    """The next times of a rule, as the clock in Berlin shows them."""
    at: datetime | None = datetime.fromisoformat(after).replace(tzinfo=BERLIN)
    times: list[str] = []
    while at and len(times) < count:
        at = next_time(rule, datetime.fromisoformat(start), BERLIN, at)
        times.append(f"{at:%a %Y-%m-%d %H:%M %z}" if at else "never")
    return times


@pytest.mark.parametrize(
    ("rule", "start", "after", "expected"),
    [
        (
            "FREQ=DAILY",
            "2026-03-27T02:30",
            "2026-03-28T12:00",
            ["Sun 2026-03-29 03:30 +0200"],
        ),
        (
            "FREQ=DAILY",
            "2026-10-24T02:30",
            "2026-10-24T12:00",
            ["Sun 2026-10-25 02:30 +0200"],
        ),
        ("FREQ=DAILY", "2026-03-27T02:30", "2026-03-29T03:30", ["Mon 2026-03-30 02:30 +0200"]),
        ("FREQ=DAILY", "2026-10-24T02:30", "2026-10-25T02:30", ["Mon 2026-10-26 02:30 +0100"]),
        (
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
            "2026-11-20T07:00",
            "2026-11-20T08:00",
            ["Mon 2026-11-23 07:00 +0100"],
        ),
        (
            "RRULE:FREQ=WEEKLY;INTERVAL=2",
            "2026-11-20T07:00",
            "2026-11-20T07:00",
            ["Fri 2026-12-04 07:00 +0100"],
        ),
        (
            "FREQ=MONTHLY;BYMONTHDAY=31",
            "2026-01-31T09:00",
            "2026-02-01T00:00",
            ["Tue 2026-03-31 09:00 +0200"],
        ),
        (
            "FREQ=MONTHLY;BYDAY=-1FR",
            "2026-11-01T09:00",
            "2026-11-01T00:00",
            ["Fri 2026-11-27 09:00 +0100"],
        ),
        ("FREQ=YEARLY", "2024-02-29T09:00", "2026-01-01T00:00", ["Tue 2028-02-29 09:00 +0100"]),
        (
            "FREQ=HOURLY;INTERVAL=6",
            "2026-11-20T07:00",
            "2026-11-20T08:00",
            ["Fri 2026-11-20 13:00 +0100"],
        ),
        (
            "FREQ=DAILY;COUNT=2",
            "2026-11-20T07:00",
            "2026-11-20T08:00",
            ["Sat 2026-11-21 07:00 +0100", "never"],
        ),
        (
            "FREQ=DAILY;UNTIL=20261121",
            "2026-11-20T07:00",
            "2026-11-20T08:00",
            ["Sat 2026-11-21 07:00 +0100", "never"],
        ),
        (
            "FREQ=DAILY;UNTIL=20261121T060000Z",
            "2026-11-20T07:00",
            "2026-11-20T08:00",
            ["Sat 2026-11-21 07:00 +0100"],
        ),
        ("FREQ=DAILY;UNTIL=20261121T050000Z", "2026-11-20T07:00", "2026-11-20T08:00", ["never"]),
    ],
)
def test_the_next_times_of_a_rule(rule: str, start: str, after: str, expected: list[str]) -> None:
    """A time that the clock skips comes an hour later, one that it shows twice comes once."""
    assert coming(rule, start, after, len(expected)) == expected


@pytest.mark.parametrize(("rule", "after"), [("FREQ=HOURLY", 13), ("FREQ=HOURLY;INTERVAL=5", 14)])
def test_a_rule_of_hours_is_not_gone_through_from_its_beginning(rule: str, after: int) -> None:
    """In a year it has thousands of times, and each is looked for in the event loop."""
    start, before = datetime(1976, 11, 20, 7), process_time()
    at = next_time(rule, start, UTC_ZONE, datetime(2026, 11, 20, 12, 30, tzinfo=UTC))
    assert at == datetime(2026, 11, 20, after, tzinfo=UTC)
    assert process_time() - before < 2


@pytest.mark.parametrize(
    "rule",
    [
        "every day",
        "FREQ=SECONDLY",
        "FREQ=DAILY;FREQ=DAILY",
        "FREQ=DAILY;BYSECOND=1",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;UNTIL=20269999",
        "FREQ=DAILY;UNTIL=99991231T235959Z",
        "FREQ=WEEKLY;BYDAY=XX",
        "FREQ=WEEKLY;BYDAY=1MO",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;INTERVAL=7;BYDAY=MO",
        "FREQ=HOURLY;BYMONTH=2",
        "FREQ=HOURLY;INTERVAL=24",
        "FREQ=MONTHLY;BYDAY=5FR;BYMONTHDAY=1",
        "FREQ=WEEKLY;BYMONTHDAY=1",
        "FREQ=MONTHLY;BYDAY=-5FR,MO",
        "FREQ=DAILY" + ";" * 300,
    ],
)
def test_what_is_no_rule_or_never_comes_is_refused(rule: str) -> None:
    """Looking for such a day would take seconds, up to the year 9999."""
    with pytest.raises(BadRuleError):
        next_time(rule, datetime(2026, 11, 20, 7), BERLIN, datetime(2026, 11, 20, tzinfo=UTC))
