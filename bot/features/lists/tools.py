"""``add_to_list``, ``show_list`` and ``tick``: lists that the people of a place share, such as what
to buy."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from bot.errors import StoreUnavailable
from bot.features.lists.cards import list_card
from bot.features.lists.store import PlaceLists
from bot.pipeline.feature import store_errors_for_model
from bot.safe_text.glyphs import one_line
from toolset.shown import Card, Shown
from toolset.titles import words
from toolset.tool import Tool, ToolContext, ToolError

MOST_NAMES = 20  # other lists that a model reads of
NO_ROOM = (
    "only {added} of {asked} items were added: the lists here are full. Tick items that are done"
)
NO_WORDS = "invalid parameters: write the list's name and its items in words"
NOWHERE = "there are no lists here"


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
        """Add the items, one line each; their numbers.

        Raises:
            ToolError: no visible words, no room for all of them, or the store cannot take them.
        """
        lists, name = _lists(context), _plain(arguments["list"])
        lines = [one_line(item) for item in arguments["items"]]
        if not (name and all(lines)):
            raise ToolError(NO_WORDS)
        async with store_errors_for_model():
            numbers = await lists.add(name, lines, context.idempotency_key)
        if not all(numbers):
            added = sum(map(bool, numbers))
            raise ToolError(NO_ROOM.format(added=added, asked=len(numbers)))
        card = await _card_with(lists, numbers[0], context, arguments["list"])
        return Shown({"numbers": numbers}, card=card)


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
        name = _plain(arguments["list"])
        async with store_errors_for_model():
            stored = await _lists(context).read()
        items = [item for item in stored if item.list_name == name]
        others = dict.fromkeys(item.list_name for item in stored if item.list_name != name)
        shown = [
            {"number": item.number, "text": item.text, "done": item.is_ticked} for item in items
        ]
        response = {"items": shown, "other_lists": list(others)[-MOST_NAMES:]}
        return Shown(response, card=list_card(arguments["list"], items, context.locale))


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
        async with store_errors_for_model():
            ticked = await lists.tick(arguments["numbers"], done=arguments.get("done", True))
        if not ticked:
            raise ToolError("no item has one of these numbers; show_list tells the numbers")
        return Shown({"ticked": ticked}, card=await _card_with(lists, ticked[0], context))


async def _card_with(
    lists: PlaceLists, number: int, context: ToolContext, title: str = ""
) -> Card | None:
    """The list that holds a changed item; None where it cannot be read now."""
    with suppress(StoreUnavailable):
        stored = await lists.read()
        for item in stored:
            if item.number == number:
                items = [one for one in stored if one.list_name == item.list_name]
                return list_card(title or item.list_name, items, context.locale)
    return None


def _plain(name: str) -> str:
    """Names of lists ignore case."""
    return one_line(name).casefold()


def _lists(context: ToolContext) -> PlaceLists:
    """The lists of the place.

    Raises:
        ToolError: nothing is stored for this call.
    """
    lists = context.store(PlaceLists)
    if lists is None:
        raise ToolError(NOWHERE)
    return lists
