"""What the model may do: every tool in this folder, one family per file. Never imports bot."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import httpx
from pydantic import BaseModel

from toolset.offer.rules import Rules
from toolset.sources import FoundTool, call_guarded, own_tools
from toolset.tool import Tool, ToolSetupError, ValidatedTool, read_schemas
from toolset.tool_map import NO_RULES, ToolMap


def find() -> list[type[Tool]]:
    """The tool classes defined in this folder's files, in the order of their names.

    Raises:
        ToolSetupError: a class that is nearly a tool.
    """
    return sorted((found.tool for found in own_tools()), key=lambda tool: tool.name)


def build(
    found: Iterable[FoundTool],
    http: httpx.AsyncClient,
    configure: Callable[[type[BaseModel]], BaseModel],
    rules: Rules = NO_RULES,
    others: Iterable[ValidatedTool] = (),
) -> ToolMap:
    """Create every tool that its settings switch on, each with its schemas.

    Args:
        configure: fills a tool's ``Config`` from the environment.
        rules: which of them a place is offered.
        others: tools that are built already.

    Raises:
        ToolSetupError: a tool that cannot be offered; the text says where it comes from.
    """
    built = (_build_one(one, http, configure) for one in found)
    return ToolMap([*(tool for tool in built if tool is not None), *others], rules)


def _build_one(
    found: FoundTool, http: httpx.AsyncClient, configure: Callable[[type[BaseModel]], BaseModel]
) -> ValidatedTool | None:
    config = configure(found.tool.Config)
    try:
        tool = call_guarded(lambda: found.tool.create(http, config), found.origin)
        if tool is None:
            return None
        parameters, response = read_schemas(tool.name, found.schemas)
        return ValidatedTool(tool, parameters, response, found.origin, own=found.own)
    except ToolSetupError as error:
        raise ToolSetupError(f"{found.origin}: {error}") from error
