"""``get_holidays``: a country's days off, in the user's language where they are known in it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.toolset.contexts import context
from tests.toolset.contexts import error_of as refusal
from toolset.public_holidays import GetHolidays
from toolset.tool import ValidatedTool, read_schemas

SOURCE = "the Python library holidays"


@pytest.fixture
def holidays() -> ValidatedTool:
    """The tool between its schemas, in the evening of 2 November 2026 in London."""
    evening = datetime(2026, 11, 2, 18, tzinfo=UTC)
    return ValidatedTool(GetHolidays(now=lambda: evening), *read_schemas("get_holidays"))


async def listed(
    holidays: ValidatedTool, locale: str = "en", zone: str = "UTC", **arguments: Any
) -> dict[str, Any]:
    """A result; an error fails the test."""
    outcome = await holidays.call(arguments, context(locale=locale, time_zone=zone))
    assert not outcome.is_error, outcome.response
    return outcome.response


async def test_without_a_year_it_is_the_next_five(holidays: ValidatedTool) -> None:
    """Beyond the new year, with the days until then."""
    assert await listed(holidays, locale="ja", country="JP") == {
        "country": "JP",
        "holidays": [
            {"date": "2026-11-03", "weekday": "Tuesday", "name": "文化の日", "days_until": 1},
            {"date": "2026-11-23", "weekday": "Monday", "name": "勤労感謝の日", "days_until": 21},
            {"date": "2027-01-01", "weekday": "Friday", "name": "元日", "days_until": 60},
            {"date": "2027-01-11", "weekday": "Monday", "name": "成人の日", "days_until": 70},
            {
                "date": "2027-02-11",
                "weekday": "Thursday",
                "name": "建国記念の日",
                "days_until": 101,
            },
        ],
        "source": SOURCE,
    }


@pytest.mark.parametrize(
    ("zone", "days"),
    [("Europe/London", 1), ("Asia/Tokyo", 0), ("", 1), ("Mars/Base", 1), ("../x", 1)],
)
async def test_today_is_the_users(holidays: ValidatedTool, zone: str, days: int) -> None:
    """In Tokyo it is tomorrow already, and a holiday."""
    reported = await listed(holidays, zone=zone, country="JP")
    assert (reported["holidays"][0]["date"], reported["holidays"][0]["days_until"]) == (
        "2026-11-03",
        days,
    )


async def test_a_year_is_listed_whole(holidays: ValidatedTool) -> None:
    """In the order of its days."""
    reported = (await listed(holidays, country="JP", year=2027))["holidays"]
    assert reported[0] == {"date": "2027-01-01", "weekday": "Friday", "name": "New Year's Day"}
    assert [day["date"] for day in reported] == sorted(day["date"] for day in reported)
    assert len(reported) >= 16


@pytest.mark.parametrize(
    ("locale", "country", "name"),
    [
        ("ja-JP", "JP", "元日"),
        ("de", "DE", "Neujahr"),
        ("de-AT", "DE", "Neujahr"),
        ("en-GB", "DE", "New Year's Day"),
        ("ja", "DE", "New Year's Day"),
        ("zh-TW", "TW", "中華民國開國紀念日"),
        ("", "JP", "New Year's Day"),
    ],
)
async def test_names_are_in_the_users_language(
    holidays: ValidatedTool, locale: str, country: str, name: str
) -> None:
    """Where they are known in it, else in English."""
    reported = await listed(holidays, locale=locale, country=country, year=2026)
    assert reported["holidays"][0]["name"].startswith(name)


async def test_a_country_with_one_language_keeps_it(holidays: ValidatedTool) -> None:
    """There is nothing to choose."""
    reported = await listed(holidays, locale="ja", country="ME", year=2026)
    assert reported["holidays"][0]["date"] == "2026-01-01"


@pytest.mark.parametrize("written", ["JP", " jp ", "JPN", "Japan", "japan"])
async def test_a_country_is_a_code_or_a_name(holidays: ValidatedTool, written: str) -> None:
    """The result has its code."""
    assert (await listed(holidays, country=written, year=2026))["country"] == "JP"


@pytest.mark.parametrize(
    ("region", "code"), [("BY", "BY"), ("by", "BY"), ("Bayern", "BY"), (" bayern ", "BY")]
)
async def test_a_region_has_days_of_its_own(
    holidays: ValidatedTool, region: str, code: str
) -> None:
    """By code or name."""
    reported = await listed(holidays, locale="de", country="DE", region=region, year=2026)
    assert reported["region"] == code
    assert "Heilige Drei Könige" in [day["name"] for day in reported["holidays"]]
    whole = await listed(holidays, locale="de", country="DE", region=" ", year=2026)
    assert "region" not in whole
    assert "Heilige Drei Könige" not in [day["name"] for day in whole["holidays"]]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"country": "Atlantis"},
            "unknown country: Atlantis. Write its ISO 3166 code, such as JP or US.",
        ),
        ({"country": "Germny"}, "unknown country: Germny. Did you mean DE?"),
        (
            {"country": "list_supported_countries"},
            "unknown country: list_supported_countries. Write its ISO 3166",
        ),
        ({"country": "__builtins__"}, "unknown country: __builtins__. Write its ISO 3166"),
        (
            {"country": "GB", "region": "Cornwall"},
            "unknown region of GB: Cornwall. The regions are: ENG, NIR, SC",
        ),
        (
            {"country": "JP", "region": "大阪"},
            "unknown region of JP: 大阪. The regions are: none, leave",
        ),
        ({"country": "JP", "year": 1800}, "no holidays of JP in 1800: known are 1949 to 2099"),
        (
            {"country": "JP", "year": 10**30},
            "no holidays of JP in 1000000000000000000000000000000: known are",
        ),
        ({"country": "UA", "year": 2026}, "no public holidays of UA are known for that time"),
    ],
)
async def test_what_is_not_known_is_told(
    holidays: ValidatedTool, arguments: dict[str, Any], text: str
) -> None:
    """With what there is instead."""
    assert (await refusal(holidays, **arguments)).startswith(text)


async def test_by_default_it_is_now() -> None:
    """The clock is the machine's."""
    reported = await GetHolidays().call({"country": "JP"}, context())
    assert 0 <= reported["holidays"][0]["days_until"] < 120
