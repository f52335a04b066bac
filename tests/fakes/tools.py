"""Tools for tests: small real tools between real schemas."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import httpx
from pydantic import BaseModel

from toolset.tool import Risk, ToolContext, ToolError, ValidatedTool
from toolset.tool_map import ToolMap

ANY_OBJECT = {"type": "object"}


class Echo:
    """Answers with its arguments and remembers who called."""

    name: ClassVar[str] = "echo"
    description: ClassVar[str] = "Use it to hear your own words."
    risk: ClassVar[Risk] = "low"
    Config: ClassVar[type[BaseModel]] = BaseModel

    def __init__(self) -> None:
        self.contexts: list[ToolContext] = []

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: Any) -> Echo:
        return cls()

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        self.contexts.append(context)
        return {"heard": arguments}


class Slow(Echo):
    """Takes as many seconds as it is told."""

    name: ClassVar[str] = "slow"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        await asyncio.sleep(arguments["seconds"])
        return {"slept": arguments["seconds"]}


class Broken(Echo):
    """Crashes, or fails politely when asked to."""

    name: ClassVar[str] = "broken"

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        if "say" in arguments:
            raise ToolError(arguments["say"])
        raise RuntimeError("/secret/path exploded")


class Launch(Echo):
    """Acts."""

    name: ClassVar[str] = "launch"
    risk: ClassVar[Risk] = "high"


def tool_map(*tools: Echo) -> ToolMap:
    """The tools between schemas that take any object."""
    return ToolMap(ValidatedTool(tool, ANY_OBJECT, ANY_OBJECT) for tool in tools)
