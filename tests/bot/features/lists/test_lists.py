"""Lists of a place: its people share them, other places do not see them, and they go with who made
them."""

from __future__ import annotations

from typing import Any

import pytest

from bot.agent.tool_runner import CARD_SHOWN
from bot.channels import InboundEvent
from bot.features.lists.store import LIST_ITEMS, StoredItem, StoredLists
from bot.features.lists.tool_lists import MOST_NAMES, ToolLists
from bot.features.lists.tools import AddToList, ShowList, Tick
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import ToolCall
from tests.bot.harness import HERE, Harness, words
from toolset.tool import ToolError, ValidatedTool, read_schemas
from toolset.tool_map import ToolMap

ROOM = "mailbox:group-0001"
MILK = {"list": "Shopping", "items": ["milk"]}


def calls(name: str, **arguments: Any) -> list[Step]:
    """One call, and an answer."""
    return [Step(calls=(ToolCall("c1", name, arguments),)), Step("Done")]


def talk(store: Store, *steps: Step) -> Harness:
    """A conversation with the three tools."""
    tools = (AddToList(), ShowList(), Tick())
    return Harness(
        store, steps, tools=ToolMap(ValidatedTool(tool, *read_schemas(tool.name)) for tool in tools)
    )


async def say(harness: Harness, text: str, message_id: str, author: str, place: str = ROOM) -> None:
    """Let somebody write, and the bot answer."""
    assert await harness.intake(
        place, InboundEvent(words(message_id, text, author), "address", place == ROOM)
    )
    await harness.runner.process(place, author)


async def test_a_group_shares_its_lists(store: Store) -> None:
    """One adds, another ticks, a third reads; elsewhere there is nothing."""
    show = calls("show_list", list="shopping")
    harness = talk(store, *calls("add_to_list", **MILK), *calls("tick", numbers=[1]), *show, *show)
    for number, author in enumerate(("u1", "u2", "u3")):
        await say(harness, "The list", f"m{number}", author)
    await say(harness, "The list", "m9", "u1", HERE)
    results = [request.messages[-1].results[0].response for request in harness.model.requests[1::2]]
    milk = {"number": 1, "text": "milk", "done": True}
    assert results == [
        {"card": CARD_SHOWN, "numbers": [1]},
        {"card": CARD_SHOWN, "ticked": [1]},
        {"card": CARD_SHOWN, "items": [milk], "other_lists": []},
        {"items": [], "other_lists": []},
    ]


async def test_names_ignore_case_and_invisible_characters(store: Store) -> None:
    """Items keep their case; the names of other lists are told, the newest of many."""
    lists = ToolLists(StoredLists(store), ROOM, "u1")
    await lists.add("Shop\u200bping ", ["Milk\u202e"], "k")
    assert await lists.show("SHOPPING") == ([StoredItem(1, "shopping", "Milk", False)], [])
    for number in range(MOST_NAMES + 1):
        await lists.add(f"list {number}", ["x"], f"k{number}")
    assert (await lists.show("nothing"))[1] == [
        f"list {number}" for number in range(1, MOST_NAMES + 1)
    ]


async def test_what_cannot_be_added_is_said(store: Store) -> None:
    """Nothing visible, and beyond the room how many were added."""
    lists = ToolLists(StoredLists(store), ROOM, "u1")
    for name, item in (("\u200b", "milk"), ("shopping", "\u200b")):
        with pytest.raises(ToolError, match="in words"):
            await lists.add(name, [item], "k")
    await lists.add("all", [str(number) for number in range(LIST_ITEMS - 1)], "k1")
    with pytest.raises(ToolError, match="only 1 of 2 items were added"):
        await lists.add("all", ["one", "two"], "k2")
    assert await lists.tick([1, 999], done=True) == [1]
