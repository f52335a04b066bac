"""A tool whose behaviour a test chooses, good or bad, and its schemas."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import httpx
from pydantic import BaseModel

from toolset.shown import Shown
from toolset.tool import Risk, ToolError, ValidatedTool

PARAMETERS = {
    "type": "object",
    "properties": {"do": {"type": "string", "maxLength": 20}, "with": {}},
    "required": ["do"],
    "additionalProperties": False,
}
RESPONSE = {
    "type": "object",
    "properties": {"done": {}},
    "required": ["done"],
    "additionalProperties": False,
}
ANYTHING = {"type": "object"}


class Doer:
    """Behaves as the test chooses, good or bad."""

    name: ClassVar[str] = "doer"
    description: ClassVar[str] = "Use it to get something done."
    risk: ClassVar[Risk] = "low"
    Config: ClassVar[type[BaseModel]] = BaseModel

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: Any) -> Doer:
        return cls()

    async def call(self, arguments: dict[str, Any], context: Any) -> dict[str, Any] | Shown:
        match arguments.get("do"):
            case "wait":
                await asyncio.Event().wait()
            case "refuse":
                raise ToolError("no such thing")
            case "chatter":
                raise ToolError("x" * 100_000)
            case "crash":
                raise RuntimeError("/secret/path and sk-secret")
            case "lie":
                return {"undone": 1}
            case "mumble":
                return ["no object"]  # type: ignore[return-value]
            case "draw":
                return Shown({"done": "drawn"}, [arguments["with"]])
        return {"done": arguments.get("with", "yes")}


class Acts(Doer):
    """The same with consequences."""

    name: ClassVar[str] = "acts"
    risk: ClassVar[Risk] = "high"


def doer(parameters: Any = PARAMETERS, response: Any = RESPONSE, **declared: Any) -> ValidatedTool:
    """The tool between schemas, with these attributes."""
    return ValidatedTool(type("Doer", (Doer,), declared)(), parameters, response)
