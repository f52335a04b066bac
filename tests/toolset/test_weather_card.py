"""``get_weather`` with a card: the weather now, and the days or hours that were asked for."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from tests.toolset.contexts import context
from toolset.forecast.card import card_of
from toolset.forecast.report import Day, Place, Report, Slot
from toolset.shown import Card
from toolset.tool import ValidatedTool


async def card(tool: ValidatedTool, detail: str = "now_and_days", locale: str = "en") -> Card:
    """The card beside a report."""
    outcome = await tool.call({"location": "Tokyo", "detail": detail}, context(locale=locale))
    assert outcome.card is not None, outcome.response
    return outcome.card


async def test_now_and_the_next_days(weather_of_both: ValidatedTool) -> None:
    """The place and the source stand around them."""
    day = "Sunny · 15 – 25 °C · ☂ 10%"
    shown = await card(weather_of_both)
    assert (shown.title, shown.note) == ("Tokyo, Japan", "wttr.in")
    assert shown.rows[:3] == (("Now", "Sunny · 20 °C"), ("Today", day), ("Tomorrow", day))
    assert len(shown.rows) == 4


async def test_a_week_names_its_days(weather_of_both: ValidatedTool) -> None:
    """In the person's language and units."""
    assert [
        (await card(weather_of_both, "week", locale)).rows[2:4] for locale in ("en-US", "ja")
    ] == [
        (
            ("Tomorrow", "Partly cloudy · 54 – 76 °F · ☂ 0%"),
            ("Sun 4/5", "Partly cloudy · 54 – 76 °F · ☂ 0%"),
        ),
        (
            ("明日", "晴れ時々曇り · 12.1 – 24.6 °C · ☂ 0%"),
            ("4/5 (日)", "晴れ時々曇り · 12.1 – 24.6 °C · ☂ 0%"),
        ),
    ]


async def test_the_next_hours(weather_of_both: ValidatedTool) -> None:
    """Twelve of them."""
    shown = await card(weather_of_both, "hourly")
    assert (len(shown.rows), shown.rows[1]) == (13, ("09:00", "Partly cloudy · 21.3 °C · ☂ 0%"))
    assert (await card(weather_of_both, "hourly", "en-US")).rows[1] == (
        "09:00",
        "Partly cloudy · 70 °F · ☂ 0%",
    )


def test_what_is_unknown_is_left_out() -> None:
    """A report without any readings has no card."""
    report = Report(Place(), None, "", "", "", "", "", "", days=())
    assert card_of(report, "Tokyo", "now_and_days", "en", fahrenheit=False) is None
    day = Day(date(2026, 4, 4), "", "", (Slot(12, "", None, None),))
    hourly = card_of(replace(report, days=(day,)), "Tokyo", "hourly", "en", fahrenheit=False)
    assert hourly == Card("Tokyo", (("12:00", ""),))
