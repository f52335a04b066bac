"""``book_room``: a tool that acts, as an operator may write one; this one books nothing."""

from __future__ import annotations

from typing import Any, ClassVar

import httpx
from pydantic import BaseModel

from toolset.tool import Risk, ToolContext


class BookRoomConfig(BaseModel):
    """Nothing to set."""


class BookRoom:
    """Answers with the booking."""

    name: ClassVar[str] = "book_room"
    description: ClassVar[str] = "Books a meeting room. Use it whenever somebody wants one."
    risk: ClassVar[Risk] = "high"
    commands: ClassVar[tuple[str, ...]] = ("book", "予約")
    Config: ClassVar[type[BaseModel]] = BookRoomConfig

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: BookRoomConfig) -> BookRoom:
        """Needs neither."""
        return cls()

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Confirm the booking."""
        return arguments
