"""Reading ``format=j1`` answers: recorded ones, and ones with holes."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.wttr_bodies import Weather, report
from toolset.forecast.report import Day, Place, Report, Slot
from toolset.tool import ToolError
from toolset.wttr.report import read

NO_WEATHER = r"^no weather data available$"
WEATHER = Weather("Tokyo", "Tokyo", "Japan", observed=datetime(2026, 4, 3, 9, 30))


def made(lang: str = "", **changes: Any) -> dict[str, Any]:
    """An answer of ours with some of its fields replaced."""
    return report(WEATHER, lang) | changes


def now(**changes: Any) -> dict[str, Any]:
    """An answer with changes in its current condition."""
    (condition,) = report(WEATHER)["current_condition"]
    return made(current_condition=[condition | changes])


def read_object(answer: object, language: str = "") -> Report:
    """Read it as it comes over the wire."""
    return read(json.dumps(answer).encode(), language)


def test_an_answer_of_ours_reads_like_a_recorded_one() -> None:
    """What the fake gives has every field."""
    assert read_object(made()) == Report(
        place=Place("Tokyo", "Tokyo", "Japan"),
        observed=datetime(2026, 4, 3, 9, 30),
        condition="Sunny",
        temp_c="21",
        feels_like_c="20",
        humidity="58",
        wind_kmh="8",
        wind_direction="SW",
        days=tuple(
            Day(
                date(2026, 4, day),
                "25",
                "15",
                tuple(Slot(hour, "Sunny", 10, 0) for hour in range(0, 24, 3)),
                sunrise="06:49",
                sunset="19:49",
                high_f="77",
                low_f="59",
            )
            for day in (3, 4, 5)
        ),
        temp_f="70",
        feels_like_f="68",
        wind_mph="5",
        source="wttr.in",
    )


def changed(value: Any, leaf: Callable[[str], object]) -> Any:
    """An answer with every reading replaced; names and dates stay."""
    if isinstance(value, dict):
        return {key: changed(inner, leaf) for key, inner in value.items()}
    if isinstance(value, list):
        return [changed(inner, leaf) for inner in value]
    return leaf(value) if isinstance(value, str) and value.lstrip("-").isdigit() else value


def test_an_answer_of_ours_may_be_wrapped_or_hold_numbers() -> None:
    """Under ``data``, as in March 2026, and with numbers among its strings, as upstream gives
    them."""
    plain = read_object(made())
    assert read_object({"data": made()}) == plain
    numbers = read_object({"data": changed(made(), int)})
    assert (numbers.place, numbers.observed, numbers.temp_c, numbers.days) == (
        plain.place,
        plain.observed,
        plain.temp_c,
        plain.days,
    )


def test_an_answer_of_zeros_is_no_weather() -> None:
    """Neither a condition nor a place, and zero in every reading."""
    zeros = {
        "current_condition": [{"temp_C": "0", "temp_F": "0", "humidity": "0"}],
        "nearest_area": [],
        "weather": [],
    }
    with pytest.raises(ToolError, match=NO_WEATHER):
        read_object(zeros)


def test_conditions_come_in_the_users_language_where_they_exist() -> None:
    """The field carries the language's name."""
    japanese = read_object(made("ja"), "ja")
    assert japanese.condition == "晴れ"
    assert {slot.condition for day in japanese.days for slot in day.slots} == {"晴れ"}


@pytest.mark.parametrize("lang_ja", [None, [], [{}], [{"value": " "}], "晴れ"])
def test_conditions_fall_back_to_english(lang_ja: object) -> None:
    """Translations are patchy."""
    assert read_object(now(lang_ja=lang_ja), "ja").condition == "Sunny"


@pytest.mark.parametrize(
    "nearest", [None, [], [{}], {}, [{"areaName": []}], [{"areaName": [{"value": " "}]}]]
)
def test_an_answer_may_not_say_where_it_is_for(nearest: object) -> None:
    """Coordinates of the question are no name."""
    assert read_object(made(nearest_area=nearest)).place == Place()


def test_the_question_names_the_place_where_nothing_else_does() -> None:
    """Older answers repeat the city."""
    answer = made(nearest_area=[], request=[{"type": "City", "query": "Tokyo, Japan"}])
    assert read_object(answer).place == Place("Tokyo, Japan")


@pytest.mark.parametrize("request_", [None, [], {}, [{}], "Tokyo"])
def test_an_answer_may_lack_the_question(request_: object) -> None:
    """Nothing depends on it."""
    answer = made(request=request_)
    assert read_object(answer).place == Place("Tokyo", "Tokyo", "Japan")
    assert read_object(answer | {"nearest_area": []}).place == Place()


@pytest.mark.parametrize("observed", [None, "", "09:30 AM", "2026-04-03", 5])
def test_the_time_of_the_observation_may_be_missing(observed: object) -> None:
    """The rest is still worth telling."""
    assert read_object(now(localObsDateTime=observed)).observed is None


@pytest.mark.parametrize(
    ("value", "reading"),
    [
        ("21", "21"),
        (22, "22"),
        (" 23 ", "23"),
        ("21.50", "21.5"),
        (-3, "-3"),
        ("-0", "0"),
        (0, "0"),
        (9.0, "9"),
    ],
)
def test_numbers_come_as_strings_or_numbers(value: object, reading: str) -> None:
    """Both are the same reading."""
    assert read_object(now(temp_C=value)).temp_c == reading


@pytest.mark.parametrize("unreadable", [None, "", "warm", True, [], "nan", "inf"])
def test_a_reading_that_is_none_is_empty(unreadable: object) -> None:
    """One bad field does not spoil the others; without a temperature there is no weather."""
    assert read_object(now(humidity=unreadable)).humidity == ""
    with pytest.raises(ToolError, match=NO_WEATHER):
        read_object(now(temp_C=unreadable))


def test_days_and_hours_that_cannot_be_placed_are_left_out() -> None:
    """A forecast without a date or time helps nobody."""
    day = made()["weather"][0]
    days = [
        {**day, "date": "soon"},
        "tomorrow",
        {
            **day,
            "astronomy": [{"sunrise": "No sunrise"}],
            "hourly": [
                {"time": "", "chanceofrain": "50"},
                {"time": "1200", "chanceofrain": "x"},
                7,
            ],
        },
        {"date": "2026-04-04"},
    ]
    assert read_object(made(weather=days)).days == (
        Day(date(2026, 4, 3), "25", "15", (Slot(12, "", None, None),), high_f="77", low_f="59"),
        Day(date(2026, 4, 4), "", "", ()),
    )


@pytest.mark.parametrize("weather", [None, {}, "fine"])
def test_an_answer_may_lack_the_forecast(weather: object) -> None:
    """The current weather is still worth telling."""
    assert read_object(made(weather=weather)).days == ()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"sunny"',
        b"{}",
        b"<html></html>",
        (
            b'{"data": {"error": [{"msg": "Unable to find any matching weather location to the '
            b"query "
            b'submitted!"}]}}'
        ),
        b'{"current_condition": []}',
        b'{"current_condition": [{"temp_C": "5"}]}',
        b'{"current_condition": [{"temp_C": "5", "weatherDesc": [{"value": "\xff"}]}]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_report_is_no_weather(body: bytes) -> None:
    """Whatever it is."""
    with pytest.raises(ToolError, match=NO_WEATHER):
        read(body, "ja")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3)
    ),
    max_leaves=5,
)


@settings(deadline=None)
@given(
    st.sampled_from(sorted(made("ja"))),
    st.sampled_from(sorted(made("ja")["current_condition"][0])),
    json_values,
)
def test_no_field_of_any_shape_crashes_the_reader(part: str, field: str, value: object) -> None:
    """Only one error is raised on purpose."""
    for answer in (made("ja", **{part: value}), now(**{field: value}), value):
        try:
            assert read_object(answer, "ja").condition
        except ToolError as error:
            assert str(error) == "no weather data available"  # noqa: PT017 -- both ends are right
