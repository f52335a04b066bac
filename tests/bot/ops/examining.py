"""Asks the doctor about real parts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from bot.checks import CheckResult
from bot.cli.doctor import openers_of
from bot.ops.doctor import Openers, run_checks
from bot.settings import Settings
from tests.fakes.tools import Echo, tool_map
from toolset.tool_map import ToolMap


@asynccontextmanager
async def one_tool() -> AsyncIterator[ToolMap]:
    """All of them take half a second, and few looks are about tools."""
    yield tool_map(Echo())


def openers(settings: Settings, **other: Any) -> Openers:
    """The real parts, but for others, and one tool."""
    return replace(openers_of(settings), **{"tools": one_tool, "mcp": {}, **other})


async def found(settings: Settings, name: str, **other: Any) -> CheckResult:
    """What the doctor says of one part."""
    findings = await run_checks(settings, openers(settings, **other))
    return next(finding for finding in findings if finding.name == name)
