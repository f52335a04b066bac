"""``get_current_time`` tells the time of any zone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.toolset.contexts import context
from toolset.clock import GetCurrentTime
from toolset.tool import ToolError

clock = GetCurrentTime(now=lambda: datetime(2026, 3, 7, 16, 5, 9, 123456, tzinfo=UTC))


async def test_without_a_zone_it_is_the_users_time() -> None:
    """There it may be another day already."""
    assert await clock.call({}, context(time_zone="Asia/Tokyo")) == {
        "datetime": "2026-03-08T01:05:09+09:00",
        "date": "2026-03-08",
        "weekday": "Sunday",
        "time": "01:05",
        "time_zone": "Asia/Tokyo",
        "utc_offset": "+09:00",
    }


async def test_a_zone_that_was_asked_for_comes_first() -> None:
    """The user's own zone does not matter then."""
    assert await clock.call({"time_zone": "America/New_York"}, context()) == {
        "datetime": "2026-03-07T11:05:09-05:00",
        "date": "2026-03-07",
        "weekday": "Saturday",
        "time": "11:05",
        "time_zone": "America/New_York",
        "utc_offset": "-05:00",
    }


async def test_without_any_zone_it_is_utc() -> None:
    """Some platforms do not tell where a user lives."""
    reported = await clock.call({}, context(time_zone=""))
    assert (reported["datetime"], reported["time_zone"]) == ("2026-03-07T16:05:09+00:00", "UTC")


async def test_by_default_it_is_now() -> None:
    """The clock is the machine's."""
    before = datetime.now(UTC).replace(microsecond=0)
    reported = await GetCurrentTime().call({"time_zone": "UTC"}, context())
    assert before <= datetime.fromisoformat(reported["datetime"]) <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("zone", "fix"),
    [
        ("Tokyo", "Did you mean Asia/Tokyo?"),
        ("asia/tokio", "Did you mean Asia/Tokyo?"),
        ("America/new york", "Did you mean America/New_York?"),
        ("東京", "Use an IANA name such as Asia/Tokyo or America/New_York."),
        ("Asia", "Use an IANA name such as Asia/Tokyo or America/New_York."),
        ("../../etc/passwd", "Use an IANA name such as Asia/Tokyo or America/New_York."),
        ("/etc/localtime", "Use an IANA name such as Asia/Tokyo or America/New_York."),
        ("x" * 64, "Use an IANA name such as Asia/Tokyo or America/New_York."),
    ],
)
async def test_an_unknown_zone_is_an_error_with_a_suggestion(zone: str, fix: str) -> None:
    """The model can fix its call by it; no path leads out of the list of zones."""
    with pytest.raises(ToolError) as raised:
        await clock.call({"time_zone": zone}, context())
    assert str(raised.value) == f"unknown time zone: {zone}. {fix}"
