"""The feature as people meet it; played where its folder stands among the features."""

from __future__ import annotations

from bot.channels import InboundEvent
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import Author, Message, ToolCall
from tests.bot.harness import HERE, Harness
from toolset.sources import find_tools
from toolset.tool import ValidatedTool, read_schemas
from toolset.tool_map import ToolMap


async def test_people_clap_for_somebody(store: Store) -> None:
    """A tool asks, a card has the button, presses count once, a command tells, and all of a person
    goes with them."""
    (found,) = (found for found in find_tools() if found.tool.name == "applaud")
    tool = ValidatedTool(found.tool(), *read_schemas("applaud", found.schemas))
    call = ToolCall("c1", "applaud", {"name": "Ann"})
    harness = Harness(store, [Step(calls=(call,)), Step("Please clap.")], tools=ToolMap([tool]))
    await harness.receive("Clap for Ann", "m1")
    await harness.runner.process(HERE, "u1")
    card = harness.box.delivered[0].reply.card
    assert card
    assert (card.title, [button.label for button in card.buttons]) == ("Applause for Ann", ["Clap"])
    for author, press in (("u2", "p1"), ("u2", "p1"), ("u3", "p2")):
        made = Message(press, "user", (), 0, Author(author))
        await harness.intake(
            HERE, InboundEvent(made, event="action", action="applause.clap", target="Ann")
        )
    await harness.receive("/claps", "m2")
    await harness.runner.process(HERE)
    assert harness.box.texts[-1] == "Claps: 2"
    features = harness.runner.services.features
    await store.personal_data.erase_person("mailbox:u2", features.kept)
    await harness.receive("/claps", "m3")
    await harness.runner.process(HERE)
    assert harness.box.texts[-1] == "Claps: 1"
