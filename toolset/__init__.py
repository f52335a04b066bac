"""What the model may do: every tool in this folder, one family per file. Never imports bot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import httpx
from pydantic import BaseModel

from toolset.decorator import schemas_of
from toolset.offer.rules import Rule
from toolset.sources import FoundTool, call_guarded, own_tools
from toolset.tool import Tool, ToolSetupError, ValidatedTool
from toolset.tool_map import ToolMap


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
    rules: Sequence[Rule] = (),
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
    built: list[ValidatedTool] = []
    for one in found:
        config = configure(one.tool.Config)
        try:
            tool = call_guarded(partial(one.tool.create, http, config), one.origin)
            if tool is not None:
                parameters, response = schemas_of(one.tool, one.schemas)
                built.append(ValidatedTool(tool, parameters, response, one.origin, own=one.own))
        except ToolSetupError as error:
            raise ToolSetupError(f"{one.origin}: {error}") from error
    return ToolMap([*built, *others], rules)
