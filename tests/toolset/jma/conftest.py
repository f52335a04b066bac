"""The Agency's two sides: a stand-in for its files, and the tools that ask it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.fakes.jma import JmaFake
from tests.toolset.contexts import http_client
from toolset.earthquakes import GetEarthquakes
from toolset.jma.client import JmaConfig
from toolset.tool import ValidatedTool, read_schemas
from toolset.tool_map import ToolMap
from toolset.weather_warnings import GetWarnings


@pytest.fixture
def jma() -> Iterator[JmaFake]:
    """The stand-in."""
    with JmaFake().served() as fake:
        yield fake


@pytest.fixture
async def tools(jma: JmaFake) -> AsyncIterator[ToolMap]:
    """Both tools between their schemas, as the model gets them."""
    config = JmaConfig(jma_base_url=jma.base_url)
    async with http_client() as http:
        made = (GetWarnings.create(http, config), GetEarthquakes.create(http, config))
        yield ToolMap(ValidatedTool(tool, *read_schemas(tool.name)) for tool in made)
