"""Every tool in the folder is found; those that their settings switch on are made and offered."""

from __future__ import annotations

from typing import Any

import pytest

import toolset
from tests.toolset.contexts import http_client
from tests.toolset.names import ALWAYS_ON, WITH_A_KEY, WORKSPACE
from toolset.sources import find_tools, own_tools
from toolset.tool import Tool, ToolSetupError


def test_the_folders_tools_are_found_in_the_order_of_their_names() -> None:
    """Helpers beside them are no tools."""
    assert [tool.name for tool in toolset.find()] == sorted([*ALWAYS_ON, *WITH_A_KEY, *WORKSPACE])


def test_every_tool_knows_its_file_and_its_schemas() -> None:
    """For ``kaiwa tools``, and for whoever has to fix one."""
    (weather,) = (found for found in own_tools() if found.tool.name == "get_weather")
    assert weather.origin == "toolset/weather.py"
    assert weather.schemas is not None
    assert weather.schemas.joinpath("get_weather", "parameters.json").is_file()


async def test_built_tools_are_configured_and_stand_between_their_schemas() -> None:
    """Each is given its own settings; one that these switch off is not offered."""
    configured: list[type[Any]] = []

    def configure(config: type[Any]) -> Any:
        configured.append(config)
        return config()

    async with http_client() as http:
        tools = toolset.build(find_tools(), http, configure)
    assert [one.name for one in tools.definitions] == ALWAYS_ON
    assert tools["get_weather"].origin == "toolset/weather.py"
    assert configured == [tool.Config for tool in toolset.find()]


def refuse(*_: object) -> None:
    """A tool that cannot be made says so itself."""
    raise ToolSetupError("no key")


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ({"risk": "none"}, r"toolset/weather\.py: tool get_weather: risk must be one of low, high"),
        (
            {"name": "moon"},
            r"toolset/weather\.py: tool moon: .*/moon/parameters\.json cannot be read",
        ),
        ({"create": refuse}, r"toolset/weather\.py: no key"),
        (
            {"create": lambda *_: 1 / 0},
            r"toolset/weather\.py cannot be loaded: ZeroDivisionError: division by zero",
        ),
    ],
)
async def test_a_tool_that_cannot_be_offered_stops_start_up(
    declared: dict[str, Any], complaint: str
) -> None:
    """In one line that says where it comes from."""
    (weather,) = (found for found in own_tools() if found.tool.name == "get_weather")
    bad: type[Tool] = type("Bad", (weather.tool,), declared)
    async with http_client() as http:
        with pytest.raises(ToolSetupError, match=complaint) as stopped:
            toolset.build(
                [type(weather)(bad, weather.origin, weather.schemas)], http, lambda config: config()
            )
    assert "\n" not in str(stopped.value)
