"""``add_to_list``, ``show_list`` and ``tick``: they use the lists of their context, and say so
where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bot.features.lists.store import StoredItem
from bot.features.lists.tool_lists import ToolLists
from bot.features.lists.tools import AddToList, ShowList, Tick
from tests.toolset.contexts import context
from toolset.shown import Card
from toolset.tool import ToolError, ToolOutcome, ValidatedTool, read_schemas

SHOPPING = Card("shopping", (("1", "☑ milk"),))


class ListsInMemory:
    """Lists of one place (``ToolLists``).

    Attributes:
        asked: the last call.
        is_away: the lists cannot be read.
    """

    def __init__(self) -> None:
        self.asked: tuple[Any, ...] = ()
        self.is_away = False

    async def add(self, name: str, items: Sequence[str], idempotency_key: str) -> list[int]:
        self.asked = (name, items, idempotency_key)
        return [number for number, _ in enumerate(items, 1)]

    async def show(self, name: str) -> tuple[list[StoredItem], list[str]]:
        if self.is_away:
            raise ToolError("the store does not answer")
        if name == "long":
            return [
                StoredItem(number, name, f"item {number}", number < 10) for number in range(1, 31)
            ], []
        return [StoredItem(1, "shopping", "milk", True)] if name == "shopping" else [], ["todo"]

    async def show_with(self, number: int) -> tuple[str, list[StoredItem]]:
        if self.is_away:
            raise ToolError("the store does not answer")
        return "shopping", [StoredItem(number, "shopping", "milk", True)]

    async def tick(self, numbers: Sequence[int], *, done: bool) -> list[int]:
        self.asked = (numbers, done)
        return [number for number in numbers if number == 1]


async def call(
    kind: type[AddToList | ShowList | Tick], lists: ListsInMemory | None, **arguments: Any
) -> ToolOutcome:
    """Call it between its schemas."""
    return await ValidatedTool(kind(), *read_schemas(kind.name)).call(
        arguments, replace(context(), find_store={ToolLists: lists}.get)
    )


async def test_items_are_added_with_the_calls_key() -> None:
    """Their numbers go back to the model."""
    lists = ListsInMemory()
    outcome = await call(AddToList, lists, list="shopping", items=["milk", "eggs"])
    assert outcome == ToolOutcome({"numbers": [1, 2]}, card=SHOPPING)
    assert lists.asked == ("shopping", ["milk", "eggs"], "key_1")


@pytest.mark.parametrize("items", [[], [""], ["x" * 201], ["x"] * 21, "milk"])
async def test_too_much_is_not_added(items: object) -> None:
    """Nothing of it."""
    lists = ListsInMemory()
    assert (await call(AddToList, lists, list="shopping", items=items)).is_error
    assert lists.asked == ()


async def test_a_list_is_shown_with_the_names_of_others() -> None:
    """An unknown one is empty."""
    shown = await call(ShowList, ListsInMemory(), list="shopping")
    assert shown.response == {
        "items": [{"number": 1, "text": "milk", "done": True}],
        "other_lists": ["todo"],
    }
    assert (await call(ShowList, ListsInMemory(), list="x")).response == {
        "items": [],
        "other_lists": ["todo"],
    }


async def test_items_are_ticked_or_opened() -> None:
    """Ticked where nothing else is said; numbers that nobody knows are an error."""
    lists = ListsInMemory()
    assert await call(Tick, lists, numbers=[1, 2]) == ToolOutcome({"ticked": [1]}, card=SHOPPING)
    assert lists.asked == ([1, 2], True)
    await call(Tick, lists, numbers=[1], done=False)
    assert lists.asked == ([1], False)
    assert (
        (await call(Tick, lists, numbers=[3]))
        .response["error"]
        .startswith("no item has one of these numbers")
    )


async def test_a_long_list_shows_what_is_open_first() -> None:
    """The card says how many items it leaves out; the model gets all of them."""
    shown = await call(ShowList, ListsInMemory(), list="long")
    assert shown.card is not None
    assert [label for label, _ in shown.card.rows] == [str(number) for number in range(10, 26)]
    assert shown.card.note == "14 more"
    assert len(shown.response["items"]) == 30
    assert (await call(ShowList, ListsInMemory(), list="nothing")).card is None


async def test_a_change_counts_where_the_list_cannot_be_shown() -> None:
    """The card is left out."""
    lists = ListsInMemory()
    lists.is_away = True
    assert await call(AddToList, lists, list="shopping", items=["milk"]) == ToolOutcome(
        {"numbers": [1]}
    )
    assert await call(Tick, lists, numbers=[1]) == ToolOutcome({"ticked": [1]})


async def test_where_nothing_is_stored_there_are_no_lists() -> None:
    """As under ``kaiwa tools call``."""
    calls = [
        await call(AddToList, None, list="x", items=["y"]),
        await call(ShowList, None, list="x"),
        await call(Tick, None, numbers=[1]),
    ]
    assert calls == [ToolOutcome.error("there are no lists here")] * 3


async def test_only_showing_is_offered_where_nothing_may_be_written() -> None:
    """READ_ONLY leaves the other two out."""
    kinds: tuple[type[AddToList | ShowList | Tick], ...] = (AddToList, ShowList, Tick)
    reads = {
        kind.name
        for kind in kinds
        if ValidatedTool(kind(), *read_schemas(kind.name)).definition.only_reads
    }
    assert reads == {"show_list"}
