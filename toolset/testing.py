"""Calls a tool as a model would, for the tests of a tool."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx

from toolset.sources import gather
from toolset.tool import ToolContext, ToolOutcome, ToolSetupError, ValidatedTool, read_schemas


def call_tool(name: str, arguments: object, folder: Path | None = None, **settings: Any) -> ToolOutcome:
    """Build one tool, call it between its schemas, and give what the model would be given.

    Args:
        folder: an operator's folder of tools, where the tool is in one.
        settings: fields of the tool's ``Config``; the environment is not read.
    """
    found = next(one for one in gather(folder) if one.tool.name == name)

    async def called() -> ToolOutcome:
        async with httpx.AsyncClient() as http:
            tool = found.tool.create(http, found.tool.Config(**settings))
            if tool is None:
                raise ToolSetupError(f"{name} is switched off by its settings")
            return await ValidatedTool(tool, *read_schemas(name, found.schemas)).call(arguments, _context())

    return asyncio.run(called())


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
