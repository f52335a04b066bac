"""``applaud``: asks everybody to clap."""

from __future__ import annotations

from typing import Any, ClassVar

from toolset.titles import Words
from toolset.tool import Risk, Tool, ToolContext, ToolError

from .hall import Hall


class Applaud(Tool):
    """A repeated call asks again."""

    name: ClassVar[str] = "applaud"
    description: ClassVar[str] = "Asks everybody here to clap for somebody."
    risk: ClassVar[Risk] = "low"
    titles: ClassVar[Words] = {"en": "Applaud", "ja": "拍手"}

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Ask for applause."""
        if (hall := context.store(Hall)) is None:
            raise ToolError("there is nobody here")
        hall.open(arguments["name"])
        return {"name": hall.name}
