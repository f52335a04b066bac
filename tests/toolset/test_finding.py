"""Every tool in the folder is found, made and offered; what is nearly a tool is not passed over in silence."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import toolset
from tests.toolset.contexts import http_client
from toolset.clock import GetCurrentTime
from toolset.tool import ToolSetupError


def module(**members: Any) -> ModuleType:
    """A module in which these classes are defined."""
    made = ModuleType("toolset.new")
    for name, member in members.items():
        member.__module__ = made.__name__
        setattr(made, name, member)
    return made


def test_the_folders_tools_are_found_in_the_order_of_their_names() -> None:
    """Helpers beside them are no tools."""
    assert [tool.name for tool in toolset.find()] == ["calculate", "get_current_time", "get_weather"]


def test_a_tool_imported_from_elsewhere_is_not_found_twice() -> None:
    """Only classes defined in a module count."""
    made = ModuleType("toolset.new")
    made.Imported = GetCurrentTime  # type: ignore[attr-defined]
    assert toolset.tools_in(made) == []


def test_a_class_that_is_nearly_a_tool_stops_start_up() -> None:
    """Whoever forgets a part is told which."""
    nearly = type("Nearly", (), {"name": "nearly", "risk": "low", "create": None, "call": None})
    with pytest.raises(ToolSetupError, match=r"toolset\.new\.Nearly is no tool yet, it lacks: description, Config"):
        toolset.tools_in(module(Nearly=nearly))


def test_a_helper_class_is_no_tool() -> None:
    """Without create and call nothing is meant to be offered."""
    assert toolset.tools_in(module(Helper=type("Helper", (), {"call": None}))) == []


async def test_built_tools_are_configured_and_stand_between_their_schemas() -> None:
    """Each is given its own settings."""
    configured: list[type[Any]] = []

    def configure(config: type[Any]) -> Any:
        configured.append(config)
        return config()

    async with http_client() as http:
        tools = toolset.build(toolset.find(), http, configure)
    assert list(tools) == ["calculate", "get_current_time", "get_weather"]
    assert configured == [tool.Config for tool in toolset.find()]
