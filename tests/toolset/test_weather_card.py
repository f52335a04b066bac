"""``get_weather`` with a card: the weather now, and the days or hours that were asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date

import pytest

from tests.fakes.open_meteo import OpenMeteoFake
from tests.fakes.wttr import WttrFake
from tests.toolset.contexts import context, http_client
from toolset.forecast.card import card_of
from toolset.forecast.report import Day, Place, Report, Slot
from toolset.shown import Card
from toolset.tool import ValidatedTool, read_schemas
from toolset.weather import GetWeather, WeatherConfig


@pytest.fixture
async def get_weather(wttr: WttrFake, open_meteo: OpenMeteoFake) -> AsyncIterator[ValidatedTool]:
    """The tool between its schemas; both sources know Tokyo."""
    wttr.place("Tokyo", temp=20)
    open_meteo.place("Tokyo", {"ja": "東京"}, region="Tokyo", country="Japan")
    config = WeatherConfig(
        wttr_base_url=wttr.base_url,
        open_meteo_base_url=open_meteo.base_url,
        open_meteo_geocoding_base_url=open_meteo.base_url,
    )
    async with http_client() as http:
        yield ValidatedTool(GetWeather.create(http, config), *read_schemas("get_weather"))


async def card(tool: ValidatedTool, detail: str = "now_and_days", locale: str = "en") -> Card:
    """The card beside a report."""
    outcome = await tool.call({"location": "Tokyo", "detail": detail}, context(locale=locale))
    assert outcome.card is not None, outcome.response
    return outcome.card


async def test_now_and_the_next_days(get_weather: ValidatedTool) -> None:
    """The place and the source stand around them."""
    day = "Sunny · 15 – 25 °C · ☂ 10%"
    shown = await card(get_weather)
    assert (shown.title, shown.note) == ("Tokyo, Japan", "wttr.in")
    assert shown.rows[:3] == (("Now", "Sunny · 20 °C"), ("Today", day), ("Tomorrow", day))
    assert len(shown.rows) == 4


async def test_a_week_names_its_days(get_weather: ValidatedTool) -> None:
    """In the person's language and units."""
    assert [(await card(get_weather, "week", locale)).rows[2:4] for locale in ("en-US", "ja")] == [
        (("Tomorrow", "Partly cloudy · 54 – 76 °F · ☂ 0%"), ("Sun 4/5", "Partly cloudy · 54 – 76 °F · ☂ 0%")),
        (("明日", "晴れ時々曇り · 12.1 – 24.6 °C · ☂ 0%"), ("4/5 (日)", "晴れ時々曇り · 12.1 – 24.6 °C · ☂ 0%")),
    ]


async def test_the_next_hours(get_weather: ValidatedTool) -> None:
    """Twelve of them."""
    shown = await card(get_weather, "hourly")
    assert (len(shown.rows), shown.rows[1]) == (13, ("09:00", "Partly cloudy · 21.3 °C · ☂ 0%"))
    assert (await card(get_weather, "hourly", "en-US")).rows[1] == ("09:00", "Partly cloudy · 70 °F · ☂ 0%")


def test_what_is_unknown_is_left_out() -> None:
    """A report without any readings has no card."""
    report = Report(Place(), None, "", "", "", "", "", "", "", "", "", days=())
    assert card_of(report, "Tokyo", "now_and_days", "en", fahrenheit=False) is None
    day = Day(date(2026, 4, 4), "", "", "", "", (Slot(12, "", None, None),))
    hourly = card_of(replace(report, days=(day,)), "Tokyo", "hourly", "en", fahrenheit=False)
    assert hourly == Card("Tokyo", (("12:00", ""),))
