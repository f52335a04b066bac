"""What the model may do: every tool in this folder, one family per file. Never imports bot."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from inspect import getmembers, isclass
from types import ModuleType
from typing import Any

import httpx
from pydantic import BaseModel

from toolset.tool import Tool, ToolMap, ToolSetupError, ValidatedTool, read_schemas


def find() -> list[type[Tool]]:
    """The tool classes defined in this folder's files, in the order of their names.

    Raises:
        ToolSetupError: a class that is nearly a tool.
    """
    modules = [import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return sorted((tool for module in modules for tool in tools_in(module)), key=lambda tool: tool.name)


def tools_in(module: ModuleType) -> list[type[Tool]]:
    """The tool classes defined in one module: those with ``create`` and ``call``.

    Raises:
        ToolSetupError: such a class lacks another part of a tool.
    """
    found: list[type[Any]] = [member for _, member in getmembers(module, isclass)]
    tools = [member for member in found if member.__module__ == module.__name__ and _is_meant(member)]
    for tool in tools:
        if missing := [part for part in ("name", "description", "risk", "Config") if not hasattr(tool, part)]:
            raise ToolSetupError(f"{module.__name__}.{tool.__name__} is no tool yet, it lacks: {', '.join(missing)}")
    return tools


def build(
    tools: list[type[Tool]], http: httpx.AsyncClient, configure: Callable[[type[BaseModel]], BaseModel]
) -> ToolMap:
    """Create every tool between its schemas.

    Args:
        configure: fills a tool's ``Config`` from the environment.

    Raises:
        ToolSetupError: a tool that cannot be offered.
    """
    return ToolMap(ValidatedTool(tool.create(http, configure(tool.Config)), *read_schemas(tool.name)) for tool in tools)


def _is_meant(member: type[Any]) -> bool:
    return member is not Tool and hasattr(member, "create") and hasattr(member, "call")
