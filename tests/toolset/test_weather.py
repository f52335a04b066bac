"""``get_weather``: from a place in words to a small report, or an error the model understands."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Any

import pytest

from tests.fakes import wttr_bodies
from tests.fakes.sources import SourceAnswer
from tests.fakes.wttr import WttrFake, place_of
from tests.toolset.contexts import context
from toolset.tool import ToolOutcome, ValidatedTool

MORNING = datetime(2026, 4, 3, 9, 30)
RAIN = (0, 10, 20, 60, 70, 30, 5, 0)


async def weather(get_weather: ValidatedTool, location: str, locale: str = "en") -> dict[str, Any]:
    """A report; an error fails the test."""
    outcome = await get_weather.call({"location": location}, context(locale=locale))
    assert not outcome.is_error, outcome.response
    return outcome.response


async def test_a_report_tells_now_and_three_days(
    wttr: WttrFake, get_weather: ValidatedTool
) -> None:
    """In metric units, with the place that was found and its own dates."""
    wttr.place("Tokyo", temp=21, high=25, low=15, rain=RAIN, observed=MORNING)
    chances = {"night": "10", "morning": "60", "afternoon": "70", "evening": "5"}
    sun = {"sunrise": "06:49", "sunset": "19:49"}
    forecast = {"condition": "Sunny", "high_c": "25", "low_c": "15", "rain_chance": chances, **sun}
    assert await weather(get_weather, "Tokyo") == {
        "location": "Tokyo, Japan",
        "source": "wttr.in",
        "local_observation_time": "2026-04-03T09:30",
        "condition": "Sunny",
        "current_temp_c": "21",
        "feels_like_c": "20",
        "humidity_percent": "58",
        "wind_kmh": "8",
        "wind_direction": "SW",
        "days": [
            {"day": "today", "date": "2026-04-03", "weekday": "Friday", **forecast},
            {"day": "tomorrow", "date": "2026-04-04", "weekday": "Saturday", **forecast},
            {"day": "day after tomorrow", "date": "2026-04-05", "weekday": "Sunday", **forecast},
        ],
    }


@pytest.mark.parametrize("locale", ["en-US", "en_US", "es-PR"])
async def test_where_fahrenheit_is_used_it_comes_along(
    wttr: WttrFake, get_weather: ValidatedTool, locale: str
) -> None:
    """The metric readings stay."""
    wttr.place("New York", temp=21, high=25, low=15)
    report = await weather(get_weather, "New York", locale)
    assert (report["current_temp_c"], report["current_temp_f"], report["feels_like_f"]) == (
        "21",
        "70",
        "68",
    )
    assert (report["wind_kmh"], report["wind_mph"]) == ("8", "5")
    assert (report["days"][0]["high_f"], report["days"][0]["low_f"]) == ("77", "59")


async def test_the_services_own_fahrenheit_and_miles_are_taken(
    wttr: WttrFake, get_weather: ValidatedTool
) -> None:
    """Its readings are rounded: 21 °C may be 71 °F, 8 km/h 4 miles; what it lacks is converted."""
    place = wttr_bodies.report(wttr_bodies.Weather("New York", temp=21, high=25, low=15))
    place["current_condition"][0] |= {"temp_F": "71", "FeelsLikeF": "67", "windspeedMiles": "4"}
    place["weather"][0] |= {"maxtempF": "78", "mintempF": "58"}
    del place["weather"][1]["maxtempF"]
    wttr.replay(SourceAnswer(body=json.dumps(place).encode()))
    outcome = await get_weather.call({"location": "New York"}, context(locale="en-US"))
    report, days = outcome.response, outcome.response["days"]
    now = [report[name] for name in ("current_temp_f", "feels_like_f", "wind_mph")]
    assert now == ["71", "67", "4"]
    assert [(day["high_f"], day["low_f"]) for day in days[:2]] == [("78", "58"), ("77", "59")]
    assert outcome.card is not None
    shown = [row.split(" · ")[1] for _, row in outcome.card.rows[:3]]
    assert shown == ["71 °F", "58 – 78 °F", "59 – 77 °F"]


@pytest.mark.parametrize("locale", ["", "en", "en-GB", "ja-JP", "us"])
async def test_elsewhere_it_does_not(
    wttr: WttrFake, get_weather: ValidatedTool, locale: str
) -> None:
    """Fewer numbers, fewer mistakes."""
    wttr.place("New York")
    report = await weather(get_weather, "New York", locale)
    assert [name for name in [*report, *report["days"][0]] if name.endswith(("_f", "_mph"))] == []


@pytest.mark.parametrize(
    ("locale", "language"),
    [
        ("ja", "ja"),
        ("ja-JP", "ja"),
        ("pt-BR", "pt-br"),
        ("zh_TW", "zh-tw"),
        ("en-GB", ""),
        ("xx", ""),
        ("", ""),
    ],
)
async def test_conditions_are_asked_for_in_the_users_language(
    wttr: WttrFake, get_weather: ValidatedTool, locale: str, language: str
) -> None:
    """Where the service has it."""
    wttr.place("東京")
    report = await weather(get_weather, "東京", locale)
    assert [request.params.get("lang", "") for request in wttr.requests] == [language]
    assert report["condition"] == ("晴れ" if language == "ja" else "Sunny")


async def test_snow_is_told_where_any_may_fall(wttr: WttrFake, get_weather: ValidatedTool) -> None:
    """Elsewhere it would be useless text."""
    wttr.place("札幌", area="Sapporo", region="Hokkaido", country="Japan", snow=80)
    report = await weather(get_weather, "札幌")
    assert report["days"][0]["snow_chance"] == dict.fromkeys(
        ("night", "morning", "afternoon", "evening"), "80"
    )


def days_from(first: int) -> list[dict[str, str]]:
    """Four days of April, from this one on."""
    return [{"date": f"2026-04-{first + ahead:02}", "maxtempC": "20"} for ahead in range(4)]


@pytest.mark.parametrize(
    ("observed", "first", "reported"),
    [
        ("2026-04-03 11:50 PM", 3, ["2026-04-03", "2026-04-04", "2026-04-05"]),
        ("2026-04-03 11:50 PM", 4, ["2026-04-04", "2026-04-05", "2026-04-06"]),
        ("2026-04-04 12:10 AM", 3, ["2026-04-04", "2026-04-05", "2026-04-06"]),
        ("", 3, ["2026-04-03", "2026-04-04", "2026-04-05"]),
        ("2026-04-06 10:00 AM", 3, ["2026-04-06"]),
        ("2026-05-01 10:00 AM", 3, []),
    ],
)
async def test_today_is_the_places_own_date(
    wttr: WttrFake, get_weather: ValidatedTool, observed: str, first: int, reported: list[str]
) -> None:
    """Around midnight observation and forecast may disagree by a day; what is past is left out."""
    condition = {"temp_C": "9", "weatherDesc": [{"value": "Fog"}], "localObsDateTime": observed}
    answer = {"current_condition": [condition], "weather": days_from(first)}
    wttr.replay(SourceAnswer(200, json.dumps(answer).encode()))
    report = await weather(get_weather, "Tokyo")
    assert [day["date"] for day in report["days"]] == reported
    assert [day["day"] for day in report["days"]] == ["today", "tomorrow", "day after tomorrow"][
        : len(reported)
    ]


async def test_what_the_service_does_not_say_is_left_out(
    wttr: WttrFake, get_weather: ValidatedTool
) -> None:
    """The smallest answer is still a report; the place is then the one that was asked for, with a
    word of caution."""
    body = b'{"current_condition": [{"temp_C": 9, "weatherDesc": [{"value": "Fog "}]}]}'
    wttr.replay(SourceAnswer(200, body))
    assert await weather(get_weather, "  Tokyo　") == {
        "location": "Tokyo",
        "note": "The service does not say which place this is for.",
        "source": "wttr.in",
        "condition": "Fog",
        "current_temp_c": "9",
        "days": [],
    }


async def test_an_ambiguous_name_comes_with_a_question(
    wttr: WttrFake, get_weather: ValidatedTool
) -> None:
    """府中 is a city in Tokyo and one in Hiroshima."""
    wttr.place("府中", area="Fuchu", region="Tokyo", country="Japan")
    report = await weather(get_weather, "府中", locale="ja")
    assert report["location"] == "Fuchu, Tokyo, Japan"
    assert report["note"] == (
        "府中 may be the one in Tokyo, Hiroshima or elsewhere; this is for Fuchu, Tokyo, Japan. "
        "Unless the user has said which is meant, ask."
    )


async def test_the_same_question_is_answered_from_memory(
    wttr: WttrFake, get_weather: ValidatedTool
) -> None:
    """Whatever its case and spaces; another place or language is another question."""
    wttr.place("Tokyo")
    wttr.place("大阪")
    for location, locale in (
        ("Tokyo", "en"),
        (" TOKYO ", "en-US"),
        ("Ｔｏｋｙｏ", ""),
        ("Tokyo", "ja"),
        ("大阪", "ja"),
    ):
        await weather(get_weather, location, locale)
    asked = [(place_of(request), request.params.get("lang")) for request in wttr.requests]
    assert asked == [("Tokyo", None), ("Tokyo", "ja"), ("大阪", "ja")]


async def test_questions_asked_at_once_are_one_request(
    wttr: WttrFake, get_weather: ValidatedTool
) -> None:
    """Each caller still gets its own units."""
    wttr.place("Tokyo")
    locales = ["en", "en-US", "en-GB"] * 5
    reports = await asyncio.gather(*(weather(get_weather, "Tokyo", locale) for locale in locales))
    assert ["current_temp_f" in report for report in reports] == [
        locale == "en-US" for locale in locales
    ]
    assert len(wttr.requests) == 1


async def test_a_failure_is_told_and_not_remembered(
    wttr: WttrFake, get_weather: ValidatedTool
) -> None:
    """The next question is asked afresh."""
    wttr.place("Tokyo")
    wttr.fail("rate_limit", times=1)
    failed = await get_weather.call({"location": "Tokyo"}, context())
    assert failed == ToolOutcome.error(
        "API error: status 429 (rate limit of the service, try again in some minutes)"
    )
    assert (await weather(get_weather, "Tokyo"))["current_temp_c"] == "21"
