"""The client of wttr.in: one request, one time budget, one text per kind of failure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.fakes.wttr import WttrFake
from tests.toolset.contexts import http_client
from toolset.tool import ToolError
from toolset.wttr.client import WttrClient

QUOTA = "location not found (or the service's quota is used up: it answers both alike)"
CAPACITY = "API error: status 503 (the service is out of capacity for today)"
RATE_LIMIT = "API error: status 429 (rate limit of the service, try again in some minutes)"
DEFAULT_CITY = (
    "no weather data available (the service ran out of queries and answered for its default city)"
)
SOURCE_DOWN = "API error: status 500 (the weather data source is not available)"
CLOSED = "API request failed: connection closed"
TIMEOUT = "API request failed: timeout"


@pytest.fixture
async def fake() -> AsyncIterator[WttrFake]:
    """A stand-in for the service that knows 東京."""
    with WttrFake().served() as fake:
        fake.place("東京", temp=21)
        yield fake


async def asked(
    base_url: str, place: str = "東京", language: str = "", timeout_s: float = 3
) -> Any:
    """What a client of its own gets."""
    async with http_client() as http:
        return await WttrClient(http, base_url, timeout_s).report(place, language)


async def refused(base_url: str, timeout_s: float = 3) -> str:
    """Why there is no report."""
    with pytest.raises(ToolError) as raised:
        await asked(base_url, timeout_s=timeout_s)
    return str(raised.value)


async def test_a_place_goes_into_the_path_percent_encoded(fake: WttrFake) -> None:
    """English needs no language."""
    report = await asked(fake.base_url)
    assert (report.temp_c, report.condition) == ("21", "Sunny")
    assert [request.target for request in fake.requests] == ["/%E6%9D%B1%E4%BA%AC?format=j1"]
    assert fake.requests[0].headers["accept-encoding"] == "identity"


async def test_the_language_goes_into_the_query(fake: WttrFake) -> None:
    """And comes back in the conditions."""
    report = await asked(fake.base_url, language="ja")
    assert report.condition == "晴れ"
    assert fake.requests[0].target == "/%E6%9D%B1%E4%BA%AC?format=j1&lang=ja"


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        ("unknown_location", "location not found"),
        ("data_source_down", SOURCE_DOWN),
        ("panic", "API error: status 500"),
        ("quota", QUOTA),
        ("capacity", CAPACITY),
        ("default_city", DEFAULT_CITY),
        ("rate_limit", RATE_LIMIT),
        ("redirect", "API error: status 302"),
        ("not_json", "no weather data available"),
        ("empty_body", "no weather data available"),
        ("huge", "API request failed: answer too large"),
        ("closed", CLOSED),
    ],
)
async def test_every_failure_has_its_text(fake: WttrFake, failure: str, text: str) -> None:
    """The model can tell its user what is wrong. Only what may pass is asked again: the rest would
    cost quota."""
    fake.fail(failure)
    assert await refused(fake.base_url) == text
    passes = failure in ("closed", "panic", "data_source_down")
    assert len(fake.requests) == (2 if passes else 1)
