"""Lists of a place: its people share them, other places do not see them, and they go with who made
them."""

from __future__ import annotations

from typing import Any

import pytest

from bot.agent.tool_runner import CARD_SHOWN
from bot.channels import Button, ButtonCard, InboundEvent
from bot.features.lists.cards import TICK, key_of, ticking_card
from bot.features.lists.feature import Lists
from bot.features.lists.store import PlaceLists, StoredItem
from bot.features.lists.tools import AddToList, ShowList, Tick
from bot.pipeline.history import read_history
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message, ToolCall
from tests.bot.harness import HERE, Harness, words
from toolset.tool import ValidatedTool, read_schemas
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


def pressing(target: str, press_id: str = "p1") -> InboundEvent:
    """A press of an item's button."""
    press = Message(press_id, "user", (), 0, Author("u2"))
    return InboundEvent(press, "address", event="action", action=TICK, target=target)


async def test_an_item_is_ticked_by_a_press(store: Store) -> None:
    """The list is shown as it stands then; the same press again says the same."""
    harness = talk(store, *calls("add_to_list", list="Shopping", items=["milk", "eggs"]))
    await say(harness, "Milk and eggs", "m1", "u1", HERE)
    messages, lists = await read_history(store, HERE), Lists(harness.runner.services)
    key = key_of("shopping")
    milk = Button("☐ milk", TICK, f"{key}:1:1", style="open")
    eggs = Button("☐ eggs", TICK, f"{key}:2:1", style="open")
    rows = (("☐ milk", ""), ("☐ eggs", ""))
    assert await lists.cards(HERE, messages) == [
        ButtonCard("Shopping", rows, key=key, buttons=(milk, eggs))
    ]
    for press_id in ("p1", "p2"):
        assert await harness.intake(HERE, pressing(eggs.value, press_id))
    await harness.runner.process(HERE, "")
    opens = Button("☑ eggs", TICK, f"{key}:2:0", style="done")
    ticked = ButtonCard(
        "shopping", (("☐ milk", ""), ("☑ eggs", "")), key=key, buttons=(milk, opens)
    )
    shown = [delivery.reply.card for delivery in harness.box.delivered[1:]]
    assert shown == [ticked, ticked]
    assert await harness.intake(HERE, pressing(opens.value, "p3"))
    assert await PlaceLists(store, HERE).read() == [
        StoredItem(1, "shopping", "milk", is_ticked=False),
        StoredItem(2, "shopping", "eggs", is_ticked=False),
    ]


async def test_a_list_that_is_gone_is_not_shown(store: Store) -> None:
    """Nothing is said of it; nor is anything of a history without lists read."""
    harness = talk(store)
    assert await harness.intake(HERE, pressing(f"{key_of('gone')}:1:1"))
    await harness.runner.process(HERE, "")
    assert harness.box.delivered == []
    assert await Lists(harness.runner.services).cards(HERE, []) == ()


@pytest.mark.parametrize("target", ["", "list_1:1:1", f"{key_of('x')}:1", f"{key_of('x')}:1:2"])
async def test_what_names_no_item_is_no_press(store: Store, target: str) -> None:
    """It is not taken."""
    assert not await talk(store).intake(HERE, pressing(target))


def test_a_long_list_has_buttons_for_what_is_open_first() -> None:
    """It says how many items have none."""
    items = [StoredItem(n, "long", f"item {n}", is_ticked=n < 10) for n in range(1, 31)]
    card = ticking_card("買い物", items, "en")
    assert [button.label for button in card.buttons] == [f"☐ item {n}" for n in range(10, 26)]
    assert card.note == "ほか14件"
