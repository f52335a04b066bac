"""``add_to_list``, ``show_list`` and ``tick``: lists that the people of a place share, such as what to buy."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import httpx
from pydantic import BaseModel

from toolset.titles import Words
from toolset.tool import Lists, NoConfig, Risk, ToolContext, ToolError

NOWHERE = "there are no lists here"


class _ListTool:
    """What the three have in common."""

    Config: ClassVar[type[BaseModel]] = NoConfig

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: NoConfig) -> Self:
        """Uses neither argument."""
        return cls()


class AddToList(_ListTool):
    """A repeated call adds nothing twice."""

    name: ClassVar[str] = "add_to_list"
    description: ClassVar[str] = (
        "Adds items to a list of this chat, group or channel; everybody here shares its lists. Use it when somebody "
        "wants something put on a list: shopping, things to do, to pack, to bring. A new name begins a new list."
    )
    risk: ClassVar[Risk] = "low"
    titles: ClassVar[Words] = {"en": "Add to a list", "ja": "リストに追加"}
    writes: ClassVar[bool] = True

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Add the items.

        Raises:
            ToolError: there is no room, or the store cannot take them.
        """
        added = await _lists(context).add(arguments["list"], arguments["items"], context.idempotency_key)
        return {"numbers": added}


class ShowList(_ListTool):
    """A list that nobody has begun has no items."""

    name: ClassVar[str] = "show_list"
    description: ClassVar[str] = (
        "Shows a list of this chat, group or channel: its items with their numbers, and whether each is done. Use it "
        "when somebody asks what is on a list or which lists there are, and before `tick` to learn the numbers."
    )
    risk: ClassVar[Risk] = "low"
    needs_conversation: ClassVar[bool] = True
    titles: ClassVar[Words] = {"en": "Show a list", "ja": "リストを表示"}

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Read the list.

        Raises:
            ToolError: the store does not answer.
        """
        items, others = await _lists(context).show(arguments["list"])
        shown = [{"number": item.number, "text": item.text, "done": item.is_done} for item in items]
        return {"items": shown, "other_lists": others}


class Tick(_ListTool):
    """Ticking twice is ticking once."""

    name: ClassVar[str] = "tick"
    description: ClassVar[str] = (
        "Marks items of a list as done by their numbers, or as open again with done=false. Use it when somebody says "
        "that something on a list is bought, finished or no longer needed. show_list tells the numbers."
    )
    risk: ClassVar[Risk] = "low"
    titles: ClassVar[Words] = {"en": "Tick off a list", "ja": "リストの項目に印を付ける"}
    writes: ClassVar[bool] = True

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        """Mark the items.

        Raises:
            ToolError: none of the numbers exists, or the store does not answer.
        """
        ticked = await _lists(context).tick(arguments["numbers"], done=arguments.get("done", True))
        if not ticked:
            raise ToolError("no item has one of these numbers; show_list tells the numbers")
        return {"ticked": ticked}


def _lists(context: ToolContext) -> Lists:
    """The lists of the place.

    Raises:
        ToolError: nothing is stored for this call.
    """
    if context.lists is None:
        raise ToolError(NOWHERE)
    return context.lists
