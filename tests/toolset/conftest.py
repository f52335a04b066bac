"""The weather's two sides: a stand-in for the service, and the tool that asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.open_meteo import OpenMeteoFake
from tests.fakes.wttr import WttrFake
from tests.toolset.contexts import http_client, only_wttr
from toolset.tool import ValidatedTool, read_schemas
from toolset.weather import GetWeather, WeatherConfig


@pytest.fixture
async def get_weather(wttr: WttrFake) -> AsyncIterator[ValidatedTool]:
    """The tool between its schemas, as the model gets it."""
    async with http_client() as http:
        made = GetWeather.create(http, only_wttr(wttr))
        yield ValidatedTool(made, *read_schemas("get_weather"))


@pytest.fixture
async def weather_of_both(
    wttr: WttrFake, open_meteo: OpenMeteoFake
) -> AsyncIterator[ValidatedTool]:
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
