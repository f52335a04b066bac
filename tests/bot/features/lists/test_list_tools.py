"""``add_to_list``, ``show_list`` and ``tick``: they use the lists of their context, and say so
where there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.errors import StoreUnavailable
from bot.features.lists.cards import key_of
from bot.features.lists.store import LIST_ITEMS, PlaceLists, StoredItem
from bot.features.lists.tools import MOST_NAMES, AddToList, ShowList, Tick
from bot.store import Store
from tests.toolset.contexts import context
from toolset.shown import Card
from toolset.tool import ToolOutcome, ValidatedTool, read_schemas

KEY = key_of("shopping")
SHOPPING = Card("Shopping", (("1", "☐ milk"), ("2", "☐ eggs")), key=KEY)
Lists = dict[type[Any], PlaceLists]


@pytest.fixture
def lists(store: Store) -> Lists:
    """The lists of one place."""
    return {PlaceLists: PlaceLists(store, "mailbox:room", "u1")}


class Away(PlaceLists):
    """Lists that take items and cannot be read then."""

    async def read(self) -> list[StoredItem]:
        raise StoreUnavailable("away")


async def call(
    kind: type[AddToList | ShowList | Tick], lists: Lists, **arguments: Any
) -> ToolOutcome:
    """Call it between its schemas."""
    return await ValidatedTool(kind(), *read_schemas(kind.name)).call(
        arguments, replace(context(), find_store=lists.get)
    )


async def test_items_are_added_with_the_calls_key(lists: Lists) -> None:
    """Their numbers go back to the model, the same ones for a repeated call."""
    for _ in range(2):
        outcome = await call(AddToList, lists, list="Shopping", items=["milk", "eggs"])
        assert outcome == ToolOutcome({"numbers": [1, 2]}, card=SHOPPING)


@pytest.mark.parametrize("items", [[], [""], ["\u200b"], ["x" * 201], ["x"] * 21, "milk"])
async def test_what_is_no_item_is_not_added(lists: Lists, items: object) -> None:
    """Nothing of it."""
    assert (await call(AddToList, lists, list="shopping", items=items)).is_error
    assert (await call(AddToList, lists, list="\u200b", items=["milk"])).is_error
    assert await lists[PlaceLists].read() == []


async def test_what_has_no_room_is_said(lists: Lists) -> None:
    """How many were added."""
    await lists[PlaceLists].add("all", [str(number) for number in range(LIST_ITEMS - 1)], "k1")
    outcome = await call(AddToList, lists, list="all", items=["one", "two"])
    assert "only 1 of 2 items were added" in outcome.response["error"]


async def test_names_ignore_case_and_invisible_characters(lists: Lists) -> None:
    """Items keep their case; the names of other lists are told, the newest of many."""
    await call(AddToList, lists, list="Shop\u200bping ", items=["Milk\u202e"])
    for number in range(MOST_NAMES + 1):
        await lists[PlaceLists].add(f"list {number}", ["x"], f"k{number}")
    shown = await call(ShowList, lists, list="SHOPPING")
    assert shown.response == {
        "items": [{"number": 1, "text": "Milk", "done": False}],
        "other_lists": [f"list {number}" for number in range(1, MOST_NAMES + 1)],
    }
    assert (await call(ShowList, lists, list="x")).response["items"] == []


async def test_items_are_ticked_or_opened(lists: Lists) -> None:
    """Ticked where nothing else is said; numbers that nobody knows are an error."""
    await call(AddToList, lists, list="Shopping", items=["milk"])
    for given, mark in ({}, "☑"), ({"done": False}, "☐"):
        card = Card("shopping", (("1", f"{mark} milk"),), key=KEY)
        outcome = await call(Tick, lists, numbers=[1, 2], **given)
        assert outcome == ToolOutcome({"ticked": [1]}, card=card)
    unknown = await call(Tick, lists, numbers=[3])
    assert unknown.response["error"].startswith("no item has one of these numbers")


async def test_a_long_list_shows_what_is_open_first(lists: Lists) -> None:
    """The card says how many items it leaves out; the model gets all of them."""
    await lists[PlaceLists].add("long", [f"item {number}" for number in range(1, 31)], "k")
    await lists[PlaceLists].tick(range(1, 10), done=True)
    shown = await call(ShowList, lists, list="long")
    assert shown.card is not None
    assert [label for label, _ in shown.card.rows] == [str(number) for number in range(10, 26)]
    assert shown.card.note == "14 more"
    assert len(shown.response["items"]) == 30
    assert (await call(ShowList, lists, list="nothing")).card is None


async def test_a_change_counts_where_the_list_cannot_be_shown(store: Store) -> None:
    """The card is left out."""
    lists: Lists = {PlaceLists: Away(store, "mailbox:room", "u1")}
    added = await call(AddToList, lists, list="shopping", items=["milk"])
    assert added == ToolOutcome({"numbers": [1]})
    assert await call(Tick, lists, numbers=[1]) == ToolOutcome({"ticked": [1]})


async def test_where_nothing_is_stored_there_are_no_lists() -> None:
    """As under ``kaiwa tools call``."""
    calls = [
        await call(AddToList, {}, list="x", items=["y"]),
        await call(ShowList, {}, list="x"),
        await call(Tick, {}, numbers=[1]),
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
