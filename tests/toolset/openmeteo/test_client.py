"""The client of Open-Meteo: what it asks for, and one text for each kind of failure."""

from __future__ import annotations

import pytest

from tests.fakes.open_meteo import OpenMeteoFake
from tests.toolset.contexts import http_client
from toolset.forecast.report import Report
from toolset.openmeteo.client import OpenMeteo, OpenMeteoClient, UnknownPlace
from toolset.tool import ToolError


@pytest.fixture
def fake(open_meteo: OpenMeteoFake) -> OpenMeteoFake:
    """A stand-in that knows Tokyo and 府中市."""
    open_meteo.place("Tokyo", {"ja": "東京都"}, region="Tokyo", country="Japan")
    open_meteo.place(
        "Fuchu-shi", {"ja": "府中市"}, region="Tokyo", country="Japan", regions={"ja": "東京都"}
    )
    return open_meteo


async def asked(
    fake: OpenMeteoFake, place: str, language: str = "", timeout_s: float = 3
) -> Report:
    """What a client of its own gets."""
    async with http_client() as http:
        return await OpenMeteoClient(
            http, OpenMeteo(fake.base_url, fake.base_url), timeout_s
        ).report(place, language)


async def test_a_place_is_searched_and_its_forecast_asked_for(fake: OpenMeteoFake) -> None:
    """Two requests; the coordinates are those that were found."""
    report = await asked(fake, "Tokyo")
    assert (str(report.place), report.temp_c, len(report.days)) == ("Tokyo, Japan", "21.3", 7)
    assert fake.searches == [{"name": "Tokyo", "count": "10", "language": "en", "format": "json"}]
    (query,) = fake.forecasts
    assert (query["latitude"], query["longitude"], query["timezone"]) == ("36", "139.5", "auto")


async def test_a_japanese_name_is_searched_with_and_without_its_ending(fake: OpenMeteoFake) -> None:
    """Two characters only find a whole name."""
    assert str((await asked(fake, "府中", "ja")).place) == "府中市, 東京都, Japan"
    assert [search["name"] for search in fake.searches] == ["府中", "府中市"]


async def test_an_unknown_place_is_not_found(fake: OpenMeteoFake) -> None:
    """No forecast is asked for."""
    with pytest.raises(UnknownPlace, match=r"^location not found$"):
        await asked(fake, "Atlantis")
    assert fake.forecasts == []


@pytest.mark.parametrize("path", ["/v1/search", "/v1/forecast"])
@pytest.mark.parametrize(
    ("failure", "text"),
    [
        ("rate_limit", "API error: status 429"),
        ("not_json", "API request failed: the answer is not JSON"),
        ("list", "no weather data available"),
        ("dripping", "API request failed: timeout"),
    ],
)
async def test_every_failure_has_its_text(
    fake: OpenMeteoFake, path: str, failure: str, text: str
) -> None:
    """In the search and in the forecast alike."""
    fake.failing = path
    fake.fail(failure)
    with pytest.raises(ToolError) as raised:
        await asked(fake, "Tokyo", timeout_s=0.3)
    assert str(raised.value) == text


@pytest.mark.parametrize("failure", ["nothing", "numbers"])
async def test_an_answer_of_another_shape_is_no_weather(fake: OpenMeteoFake, failure: str) -> None:
    """Whatever stands where the forecast should be."""
    fake.failing = "/v1/forecast"
    fake.fail(failure)
    with pytest.raises(ToolError, match=r"^no weather data available$"):
        await asked(fake, "Tokyo")
