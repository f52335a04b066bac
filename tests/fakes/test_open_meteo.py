"""The stand-in for Open-Meteo refuses what the real one refuses, and answers in its shape."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.fakes.open_meteo import OpenMeteoFake
from tests.toolset.contexts import http_client

SPOT = {"latitude": "35.6", "longitude": "139.5"}


async def get(fake: OpenMeteoFake, path: str, **query: str) -> httpx.Response:
    """What it answers."""
    async with http_client() as http:
        return await http.get(f"{fake.base_url}{path}", params=query)


async def names(fake: OpenMeteoFake, name: str, language: str = "en") -> list[str]:
    """What it finds."""
    answer: dict[str, Any] = (await get(fake, "/v1/search", name=name, language=language)).json()
    return [result["name"] for result in answer.get("results", [])]


async def test_it_searches_english_names_and_those_of_one_language(
    open_meteo: OpenMeteoFake,
) -> None:
    """Two characters must be the whole name, one is none; what follows a comma is no part of the
    name."""
    open_meteo.place("Fuchu", {"ja": "府中市"})
    assert await names(open_meteo, "fuc") == ["Fuchu"]
    assert await names(open_meteo, "Fuchu, Tokyo", "ja") == ["府中市"]
    assert await names(open_meteo, "府中市", "ja") == ["府中市"]
    assert [await names(open_meteo, name) for name in ("府中市", "Fu", "F")] == [[], [], []]


@pytest.mark.parametrize(
    ("path", "query", "reason"),
    [
        ("/v1/search", {}, "Value required"),
        ("/v1/search", {"name": "Tokyo", "count": "101"}, "Parameter count"),
        ("/v1/forecast", {**SPOT, "hourly": "temperature"}, "invalid String value temperature"),
        ("/v1/forecast", {**SPOT, "daily": "sunrise"}, "Timezone is required"),
        ("/v1/forecast", {**SPOT, "latitude": "300"}, "Latitude must be in range"),
        ("/v1/forecast", {**SPOT, "forecast_days": "17"}, "Allowed range 0 to 16"),
    ],
)
async def test_it_says_what_is_wrong_with_a_request(
    open_meteo: OpenMeteoFake, path: str, query: dict[str, str], reason: str
) -> None:
    """With status 400, as JSON."""
    refused = await get(open_meteo, path, **query)
    assert refused.status_code == 400
    assert refused.json()["error"] is True
    assert reason in refused.json()["reason"]


async def test_it_answers_with_what_was_asked_for(open_meteo: OpenMeteoFake) -> None:
    """In columns beside the local times."""
    answer = (
        await get(open_meteo, "/v1/forecast", **SPOT, hourly="temperature_2m", forecast_days="2")
    ).json()
    assert len(answer["hourly"]["time"]) == len(answer["hourly"]["temperature_2m"]) == 48
    assert answer["hourly"]["time"][:2] == ["2026-04-03T00:00", "2026-04-03T01:00"]
    assert set(answer["hourly"]) == {"time", "temperature_2m"}
