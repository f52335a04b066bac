"""The weather's two sides: a stand-in for the service, and the tool that asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.wttr import WttrFake
from tests.toolset.contexts import http_client, only_wttr
from toolset.tool import ValidatedTool, read_schemas
from toolset.weather import GetWeather


@pytest.fixture
async def get_weather(wttr: WttrFake) -> AsyncIterator[ValidatedTool]:
    """The tool between its schemas, as the model gets it."""
    async with http_client() as http:
        made = GetWeather.create(http, only_wttr(wttr))
        yield ValidatedTool(made, *read_schemas("get_weather"))
