"""Lists of a place: its people share them, other places do not see them, and they go with who made
them."""

from __future__ import annotations

from typing import Any

from bot.agent.tool_runner import CARD_SHOWN
from bot.channels import InboundEvent
from bot.features.lists.tools import AddToList, ShowList, Tick
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import ToolCall
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
