"""What the model may do: every tool in this folder, one family per file. Never imports bot."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from inspect import getmembers, isclass
from typing import Any

import httpx
from pydantic import BaseModel

from toolset.tool import Tool, ToolMap, ValidatedTool, read_schemas


def find() -> list[type[Tool]]:
    """The tool classes defined in this folder's files, in the order of their names."""
    found: list[type[Tool]] = []
    for module_info in pkgutil.iter_modules(__path__):
        module = import_module(f"{__name__}.{module_info.name}")
        for _, member in getmembers(module, isclass):
            if member.__module__ == module.__name__ and _is_tool(member):
                found.append(member)
    return sorted(found, key=lambda tool: tool.name)


def build(
    tools: list[type[Tool]], http: httpx.AsyncClient, configure: Callable[[type[BaseModel]], BaseModel]
) -> ToolMap:
    """Create every tool between its schemas.

    Args:
        configure: fills a tool's ``Config`` from the environment.

    Raises:
        ToolSetupError: a tool that cannot be offered.
    """
    return ToolMap(
        ValidatedTool(tool.create(http, configure(tool.Config)), *read_schemas(tool.name)) for tool in tools
    )


def _is_tool(member: type[Any]) -> bool:
    return all(hasattr(member, part) for part in ("name", "description", "risk", "Config", "create", "call"))
