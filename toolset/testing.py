"""``call_tool``: calls a tool in a test as a model would."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx

from toolset.decorator import schemas_of
from toolset.sources import find_tools
from toolset.tool import ToolContext, ToolOutcome, ToolSetupError, ValidatedTool


def call_tool(
    name: str, arguments: object, folder: Path | None = None, **settings: Any
) -> ToolOutcome:
    """Build one tool and call it with all checks.

    Args:
        folder: the operator's folder of tools, if the tool is in one.
        settings: fields of the tool's ``Config``; the environment is not read.

    Returns:
        What the model would get.
    """
    found = next(one for one in find_tools(folder) if one.tool.name == name)

    async def call() -> ToolOutcome:
        async with httpx.AsyncClient() as http:
            tool = found.tool.create(http, found.tool.Config(**settings))
            if tool is None:
                raise ToolSetupError(f"{name} is switched off by its settings")
            validated = ValidatedTool(tool, *schemas_of(found.tool, found.schemas))
            return await validated.call(arguments, _context())

    return asyncio.run(call())


def _context() -> ToolContext:
    return ToolContext(
        call_id="call_1",
        batch_id="batch_1",
        call_index=0,
        conversation="test",
        user="tester",
        locale="en",
        time_zone="UTC",
        idempotency_key="key_1",
        deadline=time.monotonic() + 60,
    )
