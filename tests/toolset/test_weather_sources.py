"""``get_weather`` with two sources: which one answers, what each alone has, and one error where
both fail."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.fakes.open_meteo import OpenMeteoFake
from tests.fakes.sources import SourceAnswer
from tests.fakes.wttr import WttrFake
from tests.toolset.contexts import context, error_of, http_client, response_of
from toolset.tool import ValidatedTool, read_schemas
from toolset.weather import GetWeather, WeatherConfig

TIMEOUT_S = 1.5  # of which the service that is asked first has half
OPEN_METEO = "Open-Meteo.com (CC BY 4.0)"
ONLY_USUAL = "The hourly and seven-day forecast is not available now; this is what is known."
FULL_NAME = "write its full name, with its region or country"


@pytest.fixture
async def get_weather(wttr: WttrFake, open_meteo: OpenMeteoFake) -> AsyncIterator[ValidatedTool]:
    """The tool between its schemas, with a stand-in for each source; both know Tokyo."""
    wttr.place("Tokyo", temp=20)
    wttr.place("東京", temp=20)
    open_meteo.place("Tokyo", {"ja": "東京"}, region="Tokyo", country="Japan")
    config = WeatherConfig(
        wttr_base_url=wttr.base_url,
        open_meteo_base_url=open_meteo.base_url,
        open_meteo_geocoding_base_url=open_meteo.base_url,
        weather_timeout_s=TIMEOUT_S,
    )
    async with http_client() as http:
        yield ValidatedTool(GetWeather.create(http, config), *read_schemas("get_weather"))


async def weather(
    get_weather: ValidatedTool, detail: str = "", locale: str = "en", location: str = "Tokyo"
) -> dict[str, Any]:
    """A report; an error fails the test."""
    return await response_of(get_weather, locale, **asked(location, detail))


async def error(get_weather: ValidatedTool, detail: str = "", location: str = "Tokyo") -> str:
    """Why there is no report."""
    return await error_of(get_weather, **asked(location, detail))


def asked(location: str, detail: str) -> dict[str, str]:
    """Arguments of a call."""
    return {"location": location} | ({"detail": detail} if detail else {})


async def test_a_quick_wttr_answers_alone(
    get_weather: ValidatedTool, open_meteo: OpenMeteoFake
) -> None:
    """The usual case costs the second source nothing."""
    for detail in ("", "now_and_days"):
        assert (await weather(get_weather, detail))["source"] == "wttr.in"
    assert open_meteo.searches == []


@pytest.mark.parametrize(
    "failure", ["stalled", "capacity", "not_json", "unknown_location", "default_city"]
)
async def test_open_meteo_answers_where_wttr_is_slow_or_fails(
    get_weather: ValidatedTool, wttr: WttrFake, open_meteo: OpenMeteoFake, failure: str
) -> None:
    """With the same fields, in the same time."""
    wttr.fail(failure)
    open_meteo.rain["2026-04-03T14:00"] = 70
    began = time.monotonic()
    report = await weather(get_weather)
    assert time.monotonic() - began < TIMEOUT_S
    forecast = {
        "condition": "Partly cloudy",
        "high_c": "24.6",
        "low_c": "12.1",
        "rain_chance": {"night": "0", "morning": "0", "afternoon": "0", "evening": "0"},
        "precipitation_mm": "3.2",
        "wind_max_kmh": "20.5",
        "uv_index_max": "5.65",
        "sunrise": "05:28",
        "sunset": "18:05",
    }
    rainy = {"rain_chance": {"night": "0", "morning": "0", "afternoon": "70", "evening": "0"}}
    assert report == {
        "location": "Tokyo, Japan",
        "source": OPEN_METEO,
        "local_observation_time": "2026-04-03T09:30",
        "condition": "Partly cloudy",
        "current_temp_c": "21.3",
        "feels_like_c": "20.4",
        "humidity_percent": "58",
        "wind_kmh": "8.2",
        "wind_direction": "SW",
        "days": [
            {"day": "today", "date": "2026-04-03", "weekday": "Friday", **forecast, **rainy},
            {"day": "tomorrow", "date": "2026-04-04", "weekday": "Saturday", **forecast},
            {"day": "day after tomorrow", "date": "2026-04-05", "weekday": "Sunday", **forecast},
        ],
    }


async def test_the_slow_source_is_let_go(get_weather: ValidatedTool, wttr: WttrFake) -> None:
    """Nothing of the call runs on behind its answer."""
    wttr.fail("stalled")
    before = asyncio.all_tasks()
    await weather(get_weather)
    assert [task for task in asyncio.all_tasks() - before if "GetWeather" in repr(task)] == []


async def test_rain_in_the_next_three_hours_is_told_by_the_hour(
    get_weather: ValidatedTool, wttr: WttrFake, open_meteo: OpenMeteoFake
) -> None:
    """From the present hour on, for a day; a chance that is told at the end of its hour belongs to
    its beginning."""
    open_meteo.rain["2026-04-03T12:00"] = 80
    open_meteo.codes["2026-04-03T11:00"] = 61
    report = await weather(get_weather, "hourly")
    usual = {
        "condition": "Partly cloudy",
        "temp_c": "21.3",
        "rain_chance": "0",
        "precipitation_mm": "0",
    }
    rainy = {
        "condition": "Light rain",
        "temp_c": "21.3",
        "rain_chance": "80",
        "precipitation_mm": "4",
    }
    assert report["hours"][:3] == [
        {"time": "2026-04-03T09:00", **usual, "wind_kmh": "8.2"},
        {"time": "2026-04-03T10:00", **usual, "wind_kmh": "8.2"},
        {"time": "2026-04-03T11:00", **rainy, "wind_kmh": "8.2"},
    ]
    assert (len(report["hours"]), report["hours"][-1]["time"]) == (24, "2026-04-04T08:00")
    assert (len(report["days"]), report["source"], wttr.requests) == (3, OPEN_METEO, [])


async def test_snow_has_a_chance_of_its_own(
    get_weather: ValidatedTool, open_meteo: OpenMeteoFake
) -> None:
    """The source has one chance for all that falls; its code says what that is."""
    open_meteo.rain["2026-04-03T12:00"] = 80
    open_meteo.codes["2026-04-03T11:00"] = 73
    hour = (await weather(get_weather, "hourly"))["hours"][2]
    assert (hour["condition"], hour["snow_chance"], "rain_chance" in hour) == ("Snow", "80", False)


async def test_the_weather_on_saturday_is_one_of_seven_days(
    get_weather: ValidatedTool, wttr: WttrFake
) -> None:
    """wttr.in has three and is not asked."""
    report = await weather(get_weather, "week")
    assert [(day["day"], day["weekday"]) for day in report["days"]] == [
        ("today", "Friday"),
        ("tomorrow", "Saturday"),
        ("day after tomorrow", "Sunday"),
        ("in 3 days", "Monday"),
        ("in 4 days", "Tuesday"),
        ("in 5 days", "Wednesday"),
        ("in 6 days", "Thursday"),
    ]
    assert "hours" not in report
    assert wttr.requests == []


async def test_units_and_words_are_the_users(get_weather: ValidatedTool) -> None:
    """Fahrenheit and miles where they are used; Japanese in Japan."""
    american = await weather(get_weather, "hourly", "en-US")
    assert (american["current_temp_f"], american["feels_like_f"], american["wind_mph"]) == (
        "70",
        "69",
        "5",
    )
    assert (american["hours"][0]["temp_f"], american["hours"][0]["wind_mph"]) == ("70", "5")
    assert (american["days"][0]["high_f"], american["days"][0]["wind_max_mph"]) == ("76", "13")
    japanese = await weather(get_weather, "week", "ja-JP", "東京")
    assert (japanese["condition"], japanese["location"]) == ("晴れ時々曇り", "東京, Tokyo, Japan")


@pytest.mark.parametrize("detail", ["hourly", "week"])
@pytest.mark.parametrize("failure", ["rate_limit", "stalled"])
async def test_without_open_meteo_the_usual_answer_comes_with_a_note(
    get_weather: ValidatedTool, open_meteo: OpenMeteoFake, detail: str, failure: str
) -> None:
    """Within the time; as soon as Open-Meteo answers, it is asked again."""
    open_meteo.fail(failure)
    report = await weather(get_weather, detail)
    assert (report["source"], report["note"], len(report["days"])) == ("wttr.in", ONLY_USUAL, 3)
    if detail == "hourly":
        assert {hour["time"][14:] for hour in report["hours"]} == {"00"}
    open_meteo.recover()
    assert "note" not in await weather(get_weather, detail)


async def test_what_open_meteo_said_as_the_usual_answer_has_seven_days(
    get_weather: ValidatedTool, wttr: WttrFake, open_meteo: OpenMeteoFake
) -> None:
    """It is kept, and is as good while Open-Meteo fails."""
    wttr.fail("capacity")
    await weather(get_weather)
    open_meteo.fail("rate_limit")
    report = await weather(get_weather, "week")
    assert (report["source"], len(report["days"]), "note" in report) == (OPEN_METEO, 7, False)


async def test_hours_that_nobody_tells_are_none(
    get_weather: ValidatedTool, wttr: WttrFake, open_meteo: OpenMeteoFake
) -> None:
    """The present is still an answer."""
    open_meteo.fail("rate_limit")
    body = b'{"current_condition": [{"temp_C": 9, "weatherDesc": [{"value": "Fog"}]}]}'
    wttr.replay(SourceAnswer(200, body))
    report = await weather(get_weather, "hourly")
    assert (report["condition"], report["hours"], report["days"]) == ("Fog", [], [])


async def test_an_ambiguous_place_comes_with_a_question(
    get_weather: ValidatedTool, open_meteo: OpenMeteoFake
) -> None:
    """As from wttr.in."""
    for region in ("Oregon", "Maine"):
        open_meteo.place("Portland", region=region, country="United States", code="US")
    report = await weather(get_weather, "week", location="Portland")
    assert report["location"] == "Portland, Oregon, United States"
    assert report["note"] == (
        "Portland may be the one in Oregon, Maine or elsewhere; this is for Portland, Oregon, "
        "United States. "
        "Unless the user has said which is meant, ask."
    )


async def test_one_request_answers_hours_and_week(
    get_weather: ValidatedTool, open_meteo: OpenMeteoFake
) -> None:
    """Whoever asks, and however often; the usual answer is kept apart."""
    await asyncio.gather(*(weather(get_weather, detail) for detail in ("hourly", "week", "week")))
    await weather(get_weather)
    assert len(open_meteo.forecasts) == 1


@pytest.mark.parametrize("location", ["Tokyo&count=100", "Tokyo;name=x", "127.0.0.1", "a+b=c"])
async def test_a_place_is_only_ever_a_name(
    get_weather: ValidatedTool, wttr: WttrFake, open_meteo: OpenMeteoFake, location: str
) -> None:
    """Nothing in it becomes another parameter."""
    wttr.fail("unknown_location")
    await get_weather.call({"location": location}, context())
    assert open_meteo.searches == [
        {"name": location, "count": "10", "language": "en", "format": "json"}
    ]


@pytest.mark.parametrize("detail", ["", "week"])
@pytest.mark.parametrize(
    ("failure", "location", "text"),
    [
        ("unknown_location", "Atlantis", f"location not found ({FULL_NAME})"),
        ("quota", "Atlantis", f"location not found ({FULL_NAME})"),
        (
            "not_json",
            "Atlantis",
            f"no weather data available; the other service does not know this place ({FULL_NAME})",
        ),
    ],
)
async def test_a_place_that_open_meteo_does_not_know_either(
    get_weather: ValidatedTool, wttr: WttrFake, detail: str, failure: str, location: str, text: str
) -> None:
    """Only where wttr.in says so too is it not found."""
    wttr.fail(failure)
    assert await error(get_weather, detail, location) == text


@pytest.mark.parametrize("detail", ["", "hourly"])
@pytest.mark.parametrize(
    ("failure", "text"),
    [
        ("unknown_location", "location not found"),
        (
            "rate_limit",
            "API error: status 429 (rate limit of the service, try again in some minutes)",
        ),
    ],
)
async def test_where_both_fail_wttrs_text_is_told(
    get_weather: ValidatedTool,
    wttr: WttrFake,
    open_meteo: OpenMeteoFake,
    detail: str,
    failure: str,
    text: str,
) -> None:
    """A model can do most with it."""
    wttr.fail(failure)
    open_meteo.fail("rate_limit")
    assert await error(get_weather, detail) == text


@pytest.mark.long
async def test_two_silent_services_take_no_more_time_than_one(
    get_weather: ValidatedTool, wttr: WttrFake, open_meteo: OpenMeteoFake
) -> None:
    """One time limit covers all."""
    wttr.fail("stalled")
    open_meteo.fail("stalled")
    for detail in ("", "week"):
        began = time.monotonic()
        assert await error(get_weather, detail) == "API request failed: timeout"
        assert time.monotonic() - began < TIMEOUT_S + 0.3


async def test_an_operator_can_switch_open_meteo_off(
    wttr: WttrFake, open_meteo: OpenMeteoFake
) -> None:
    """OPEN_METEO=0: it is never asked, whatever is wanted and however slow wttr.in is."""
    wttr.place("Tokyo", temp=20)
    config = WeatherConfig(
        wttr_base_url=wttr.base_url,
        open_meteo=False,
        open_meteo_base_url=open_meteo.base_url,
        open_meteo_geocoding_base_url=open_meteo.base_url,
        weather_timeout_s=TIMEOUT_S,
    )
    async with http_client() as http:
        get_weather = ValidatedTool(GetWeather.create(http, config), *read_schemas("get_weather"))
        assert (await weather(get_weather))["source"] == "wttr.in"
        for detail in ("hourly", "week"):
            assert (await weather(get_weather, detail))["note"] == ONLY_USUAL
        wttr.fail("stalled")
        assert await error(get_weather, location="Osaka") == "API request failed: timeout"
    assert open_meteo.searches == []
