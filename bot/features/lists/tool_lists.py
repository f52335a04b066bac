"""The lists of a place for tools: names and items are one line each, and names ignore case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bot.features.lists.store import StoredItem, StoredLists
from bot.pipeline.feature import store_errors_for_model
from bot.safe_text.glyphs import one_line
from toolset.tool import ToolError

MOST_NAMES = 20  # other lists that a model reads of
NO_ROOM = (
    "only {added} of {asked} items were added: the lists here are full. Tick items that are done"
)
NO_WORDS = "invalid parameters: write the list's name and its items in words"


class ToolLists:
    """The lists of one place; the items remember who added them, for ``/forget me``."""

    def __init__(self, lists: StoredLists, place: str, author: str) -> None:
        self._lists = lists
        self._place = place
        self._author = author

    async def add(self, name: str, items: Sequence[str], idempotency_key: str) -> list[int]:
        """Add items to a list; their numbers.

        Raises:
            ToolError: no visible words, no room for all of them, or the store cannot take them.
        """
        lines = [one_line(item) for item in items]
        if not (one_line(name) and all(lines)):
            raise ToolError(NO_WORDS)
        async with store_errors_for_model():
            numbers = await self._lists.add(
                self._place, self._author, _plain(name), lines, idempotency_key
            )
        if not all(numbers):
            raise ToolError(NO_ROOM.format(added=sum(map(bool, numbers)), asked=len(numbers)))
        return numbers

    async def show(self, name: str) -> tuple[list[StoredItem], list[str]]:
        """The items of a list, and the names of the place's other lists.

        Raises:
            ToolError: the store does not answer.
        """
        stored, plain = await self._read(), _plain(name)
        others = dict.fromkeys(item.list_name for item in stored if item.list_name != plain)
        return _items(stored, plain), list(others)[-MOST_NAMES:]

    async def show_with(self, number: int) -> tuple[str, list[StoredItem]]:
        """The name and the items of the list in which an item is; of none if there is no such item.

        Raises:
            ToolError: the store does not answer.
        """
        stored = await self._read()
        name = next((item.list_name for item in stored if item.number == number), "")
        return name, _items(stored, name)

    async def tick(self, numbers: Sequence[int], *, done: bool) -> list[int]:
        """Mark items as done or as open; returns the numbers that there are.

        Raises:
            ToolError: the store does not answer.
        """
        async with store_errors_for_model():
            return await self._lists.tick(self._place, numbers, done=done)

    async def _read(self) -> list[StoredItem]:
        async with store_errors_for_model():
            return await self._lists.read(self._place)


def _items(stored: Iterable[StoredItem], name: str) -> list[StoredItem]:
    return [item for item in stored if item.list_name == name]


def _plain(name: str) -> str:
    return one_line(name).casefold()
