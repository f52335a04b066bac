"""``get_weather`` with a chart: a picture beside the report, its figures in words, and never an
error of its own."""

from __future__ import annotations

import pytest

from tests.fakes.open_meteo import OpenMeteoFake
from tests.toolset.contexts import context
from toolset.shown import ToolFile
from toolset.tool import ValidatedTool
from toolset.weather import NOT_SHOWN, SHOWN

PNG = b"\x89PNG\r\n\x1a\n"


async def chart(tool: ValidatedTool, detail: str = "now_and_days", locale: str = "en") -> ToolFile:
    """The one file beside a report."""
    outcome = await tool.call(
        {"location": "Tokyo", "detail": detail, "chart": True}, context(locale=locale)
    )
    assert not outcome.is_error, outcome.response
    assert outcome.response["chart"] == SHOWN
    (file,) = outcome.files
    return file


@pytest.mark.parametrize("detail", ["now_and_days", "hourly"])
async def test_the_next_hours_are_drawn(
    weather_of_both: ValidatedTool, open_meteo: OpenMeteoFake, detail: str
) -> None:
    """Also where hours were not asked for: three days alone are no chart."""
    open_meteo.rain["2026-04-03T12:00"] = 80
    file = await chart(weather_of_both, detail)
    assert (file.name, file.mime, file.data[:8]) == ("weather.png", "image/png", PNG)
    lines = file.text.splitlines()
    place = "Tokyo, Japan · Fri 4/3, Sat 4/4 (Temperature, Rain)"
    assert (len(lines), lines[0], lines[1].startswith("09:00 · ")) == (25, place, True)
    assert any("80%" in line for line in lines)


async def test_a_week_is_drawn_by_its_days(weather_of_both: ValidatedTool) -> None:
    """Place and legend, weekdays, highs and lows, rain and its chance."""
    lines = (await chart(weather_of_both, "week")).text.splitlines()
    assert (len(lines), lines[0]) == (8, "Tokyo, Japan (High, Low, Rain)")
    assert lines[1] == "Fri 4/3 · 24.6/12.1 °C · 3.2 mm · 0%"


async def test_figures_are_in_the_users_units(weather_of_both: ValidatedTool) -> None:
    """Fahrenheit where people use it."""
    assert "76/54 °F" in (await chart(weather_of_both, "week", "en-US")).text


async def test_days_are_drawn_where_only_wttr_answers(
    weather_of_both: ValidatedTool, open_meteo: OpenMeteoFake
) -> None:
    """Its hours have no temperatures here, and its rain is a chance."""
    open_meteo.fail("stalled")
    lines = (await chart(weather_of_both, "hourly")).text.splitlines()
    assert (len(lines), "°C" in lines[1], "%" in lines[1]) == (4, True, True)


async def test_without_a_chart_there_is_no_file(weather_of_both: ValidatedTool) -> None:
    """Neither a picture nor a word of it."""
    for arguments in ({"location": "Tokyo"}, {"location": "Tokyo", "chart": False}):
        outcome = await weather_of_both.call(arguments, context())
        assert (outcome.files, "chart" in outcome.response) == ((), False)


async def test_a_chart_that_cannot_be_drawn_costs_only_itself(
    weather_of_both: ValidatedTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report is there, and says that there is no chart."""
    monkeypatch.setattr("toolset.weather.CHART_S", 0.001)
    outcome = await weather_of_both.call({"location": "Tokyo", "chart": True}, context())
    assert (outcome.is_error, outcome.files, outcome.response["chart"]) == (False, (), NOT_SHOWN)
