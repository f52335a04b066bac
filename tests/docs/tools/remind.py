"""``remind``: a tool that acts, as an operator may write one; this one sends nothing."""

from __future__ import annotations

from typing import Any, ClassVar

import httpx
from pydantic import BaseModel

from toolset.tool import Risk, ToolContext


class RemindConfig(BaseModel):
    """Nothing to set."""


class Remind:
    """Answers with the reminder."""

    name: ClassVar[str] = "remind"
    description: ClassVar[str] = (
        "Sets a reminder. Use it whenever somebody wants to be reminded of something."
    )
    risk: ClassVar[Risk] = "high"
    commands: ClassVar[tuple[str, ...]] = ("remind", "リマインド")
    Config: ClassVar[type[BaseModel]] = RemindConfig

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: RemindConfig) -> Remind:
        """Needs neither."""
        return cls()

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Confirm the reminder."""
        return arguments
