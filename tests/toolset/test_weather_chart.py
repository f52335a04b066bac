"""``get_weather`` with a chart: a picture beside the report, its figures in words, and never an error of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.open_meteo import OpenMeteoFake
from tests.fakes.wttr import WttrFake
from tests.toolset.contexts import context, http_client
from toolset.shown import ToolFile
from toolset.tool import ValidatedTool, read_schemas
from toolset.weather import NOT_SHOWN, SHOWN, GetWeather, WeatherConfig

PNG = b"\x89PNG\r\n\x1a\n"


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


async def chart(tool: ValidatedTool, detail: str = "now_and_days", locale: str = "en") -> ToolFile:
    """The one file beside a report."""
    outcome = await tool.call({"location": "Tokyo", "detail": detail, "chart": True}, context(locale=locale))
    assert not outcome.is_error, outcome.response
    assert outcome.response["chart"] == SHOWN
    (file,) = outcome.files
    return file


@pytest.mark.parametrize("detail", ["now_and_days", "hourly"])
async def test_the_next_hours_are_drawn(get_weather: ValidatedTool, open_meteo: OpenMeteoFake, detail: str) -> None:
    """Also where hours were not asked for: three days alone are no chart."""
    open_meteo.rain["2026-04-03T12:00"] = 80
    file = await chart(get_weather, detail)
    assert (file.name, file.mime, file.data[:8]) == ("weather.png", "image/png", PNG)
    lines = file.text.splitlines()
    assert (len(lines), lines[0].startswith("09:00 · ")) == (24, True)
    assert any("80%" in line for line in lines)


async def test_a_week_is_drawn_by_its_days(get_weather: ValidatedTool) -> None:
    """Highs and lows, rain and its chance."""
    lines = (await chart(get_weather, "week")).text.splitlines()
    assert (len(lines), lines[0]) == (7, "04-03 · 24.6/12.1 °C · 3.2 mm · 0%")


async def test_figures_are_in_the_users_units(get_weather: ValidatedTool) -> None:
    """Fahrenheit where people use it."""
    assert "76/54 °F" in (await chart(get_weather, "week", "en-US")).text


async def test_days_are_drawn_where_only_wttr_answers(get_weather: ValidatedTool, open_meteo: OpenMeteoFake) -> None:
    """Its hours have no temperatures here, and its rain is a chance."""
    open_meteo.fail("stalled")
    lines = (await chart(get_weather, "hourly")).text.splitlines()
    assert (len(lines), "°C" in lines[0], "%" in lines[0]) == (3, True, True)


async def test_without_a_chart_there_is_no_file(get_weather: ValidatedTool) -> None:
    """Neither a picture nor a word of it."""
    for arguments in ({"location": "Tokyo"}, {"location": "Tokyo", "chart": False}):
        outcome = await get_weather.call(arguments, context())
        assert (outcome.files, "chart" in outcome.response) == ((), False)


async def test_a_chart_that_cannot_be_drawn_costs_only_itself(
    get_weather: ValidatedTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report is there, and says that there is no chart."""
    monkeypatch.setattr("toolset.weather.CHART_S", 0.001)
    outcome = await get_weather.call({"location": "Tokyo", "chart": True}, context())
    assert (outcome.is_error, outcome.files, outcome.response["chart"]) == (False, (), NOT_SHOWN)
