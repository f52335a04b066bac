"""Reading a forecast: columns become days and hours, and holes stay holes."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolset.forecast.report import Day, Place, Report, Slot
from toolset.openmeteo.forecast import read
from toolset.openmeteo.geocoding import Found
from toolset.openmeteo.weather_codes import WORDS, words
from toolset.tool import ToolError

FOUND = Found(Place("Tokyo", "Tokyo", "Japan"), "35.7", "139.7", "a note")
ANSWER: dict[str, Any] = {
    "current": {
        "time": "2026-04-03T22:15",
        "temperature_2m": 9.4,
        "apparent_temperature": -0.2,
        "relative_humidity_2m": 58,
        "weather_code": 61,
        "wind_speed_10m": 10,
        "wind_direction_10m": 350,
    },
    "hourly": {
        "time": ["2026-04-03T22:00", "2026-04-03T23:00", "2026-04-04T00:00"],
        "temperature_2m": [9.4, 8, None],
        "precipitation_probability": [10, 80, 30],
        "precipitation": [0, 1.5, 0.1],
        "weather_code": [61, 3, 71],
        "wind_speed_10m": [10, 11.5, 12],
    },
    "daily": {
        "time": ["2026-04-03", "2026-04-04"],
        "temperature_2m_max": [12, 0],
        "temperature_2m_min": [5.5, None],
        "sunrise": ["2026-04-03T05:28", "2026-04-04T00:00"],
        "sunset": ["2026-04-03T18:05", "2026-04-04T00:00"],
        "precipitation_sum": [3.2],
        "wind_speed_10m_max": [20.5, "x"],
        "uv_index_max": [5.65, 0],
    },
}


def test_a_forecast_becomes_a_report() -> None:
    """What falls is told at the end of its hour and read for its beginning; snow has chances of its
    own."""
    assert read(ANSWER, FOUND, "") == Report(
        place=FOUND.place,
        observed=datetime(2026, 4, 3, 22, 15),
        condition="Light rain",
        temp_c="9.4",
        feels_like_c="-0.2",
        humidity="58",
        wind_kmh="10",
        wind_direction="N",
        days=(
            Day(
                date(2026, 4, 3),
                *("12", "5.5"),
                (
                    Slot(22, "Light rain", 80, None, "9.4", "1.5", "10"),
                    Slot(23, "Overcast", None, 30, "8", "0.1", "11.5"),
                ),
                *("05:28", "18:05", "3.2", "20.5", "5.65"),
            ),
            Day(
                date(2026, 4, 4),
                *("0", ""),
                (Slot(0, "Light snow", None, None, "", "", "12"),),
                uv_index_max="0",
            ),
        ),
        source="Open-Meteo.com (CC BY 4.0)",
        note="a note",
    )


@pytest.mark.parametrize(
    "answer", [None, [], {}, {"current": {"temperature_2m": 9}}, {"current": {"weather_code": 0}}]
)
def test_without_the_present_there_is_no_report(answer: object) -> None:
    """A place has a temperature and a condition."""
    with pytest.raises(ToolError, match=r"^no weather data available$"):
        read(answer, FOUND, "")


def test_days_and_hours_that_cannot_be_placed_are_left_out() -> None:
    """A forecast without a date or time helps nobody."""
    changed = {
        "hourly": {"time": ["soon", None]},
        "daily": {"time": ["soon", 7], "sunrise": "early"},
    }
    assert read(ANSWER | changed, FOUND, "").days == ()
    assert (
        read(ANSWER | {"hourly": [], "daily": {"sunrise": ["2026-04-03T05:28"]}}, FOUND, "").days
        == ()
    )


def test_a_forecast_of_a_year_is_cut_to_a_week() -> None:
    """The reading is bounded, whatever comes."""
    days = {"time": [f"2026-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]}
    assert len(read(ANSWER | {"daily": days}, FOUND, "").days) == 7


def test_every_code_has_words_in_both_languages() -> None:
    """Other languages get the English ones; an unknown code has none."""
    assert [code for code in WORDS if not (words(code, "") and words(code, "ja"))] == []
    assert (words(0, "ja"), words(0, "de"), words(4, ""), words(None, ""), words("x", "")) == (
        "快晴",
        "Clear",
        "",
        "",
        "",
    )


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)


@given(
    part=st.sampled_from(["current", "hourly", "daily"]),
    value=LEAVES
    | st.dictionaries(
        st.sampled_from(["time", "temperature_2m", "sunrise", "weather_code"]),
        st.lists(LEAVES) | LEAVES,
    ),
)
@settings(deadline=None)
def test_no_answer_breaks_it(part: str, value: object) -> None:
    """It is a report, or there is no weather."""
    try:
        report = read(ANSWER | {part: value}, FOUND, "ja")
    except ToolError:
        return
    assert report.temp_c
    json.dumps(report.temp_c, allow_nan=False)
