"""``add_to_list``, ``show_list`` and ``tick``: lists that the people of a place share, such as what
to buy."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from bot.features.lists.store import StoredItem
from bot.features.lists.tool_lists import ToolLists
from toolset.shown import MOST_ROWS, Card, Shown
from toolset.titles import words, words_in
from toolset.tool import Tool, ToolContext, ToolError

NOWHERE = "there are no lists here"
MORE = {"en": "{more} more", "ja": "ほか{more}件"}


class AddToList(Tool):
    """A repeated call adds nothing twice."""

    name = "add_to_list"
    description = (
        "Adds items to a list that everybody in this chat shares. Use it for shopping, things to "
        "do, to pack. A new name begins a new list."
    )
    risk = "low"
    titles = words(en="Add to a list", ja="リストに追加")
    writes = True

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Shown:
        """Add the items.

        Raises:
            ToolError: there is no room, or the store cannot take them.
        """
        lists, name = _lists(context), arguments["list"]
        added = await lists.add(name, arguments["items"], context.idempotency_key)
        with suppress(ToolError):  # the items are added, card or none
            items, _ = await lists.show(name)
            return Shown({"numbers": added}, card=_card(name, items, context.locale))
        return Shown({"numbers": added})


class ShowList(Tool):
    """A list that nobody has begun has no items."""

    name = "show_list"
    description = (
        "Shows a list of this chat. Use it when asked, and before tick, which needs the numbers "
        "of items. A wrong name tells the others."
    )
    risk = "low"
    needs_conversation = True
    titles = words(en="Show a list", ja="リストを表示")

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Shown:
        """Read the list.

        Raises:
            ToolError: the store does not answer.
        """
        name = arguments["list"]
        items, others = await _lists(context).show(name)
        shown = [
            {"number": item.number, "text": item.text, "done": item.is_ticked} for item in items
        ]
        return Shown(
            {"items": shown, "other_lists": others}, card=_card(name, items, context.locale)
        )


class Tick(Tool):
    """Ticking twice is ticking once."""

    name = "tick"
    description = (
        "Marks items of a list as done, or as open again. Use it when something is bought, "
        "finished or no longer needed."
    )
    risk = "low"
    titles = words(en="Tick off a list", ja="リストの項目に印を付ける")
    writes = True

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Shown:
        """Mark the items.

        Raises:
            ToolError: none of the numbers exists, or the store does not answer.
        """
        lists = _lists(context)
        ticked = await lists.tick(arguments["numbers"], done=arguments.get("done", True))
        if not ticked:
            raise ToolError("no item has one of these numbers; show_list tells the numbers")
        with suppress(ToolError):  # the items are marked, card or none
            name, items = await lists.show_with(ticked[0])
            return Shown({"ticked": ticked}, card=_card(name, items, context.locale))
        return Shown({"ticked": ticked})


def _card(name: str, items: Sequence[StoredItem], locale: str) -> Card | None:
    """The list, open items first where it is too long for a card; None for an empty one."""
    first = sorted(items, key=lambda item: item.is_ticked) if len(items) > MOST_ROWS else items
    rows = tuple(
        (str(item.number), f"{'☑' if item.is_ticked else '☐'} {item.text}")
        for item in first[:MOST_ROWS]
    )
    more = len(items) - len(rows)
    note = words_in(locale, MORE).format(more=more) if more else ""
    return Card(name, rows, note) if rows else None


def _lists(context: ToolContext) -> ToolLists:
    """The lists of the place.

    Raises:
        ToolError: nothing is stored for this call.
    """
    lists = context.store(ToolLists)
    if lists is None:
        raise ToolError(NOWHERE)
    return lists
