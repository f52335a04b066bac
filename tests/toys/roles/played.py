"""The feature as people meet it; played where its folder stands among the features."""

from __future__ import annotations

from bot.features.roles.feature import SHIP
from bot.features.trust.feature import Trust

from bot.channels import InboundEvent
from bot.providers.scripted import Scripted, Step
from bot.store import Store
from bot.transcript import ToolCall
from tests.bot.harness import HERE, Harness, words
from tests.fakes.tools import Echo, Slow, tool_map

CALL = ToolCall("c1", "echo", {"say": "ahoy"})


async def test_a_place_has_its_persona_its_model_its_tools_and_their_risk(store: Store) -> None:
    """Everywhere else all is as usual."""
    parrot = Scripted([Step(calls=(CALL,)), Step("Ahoy"), Step("Ahoy")], model="parrot")
    harness = Harness(
        store, [Step("Hello")], tools=tool_map(Echo(), Slow()), models={"demo": parrot}
    )
    for place in (SHIP, HERE):
        assert await harness.intake(place, InboundEvent(words(f"m1 {place}", "Hello")))
        await harness.runner.process(place)
    there, (here,) = parrot.requests[0], harness.model.requests
    assert (there.system, here.system) == (
        "SYSTEM\n\nSpeak like a pirate.\n\nSTYLE",
        "SYSTEM\n\nSTYLE",
    )
    assert [tool.name for tool in there.tools] == ["echo"]
    assert [tool.name for tool in here.tools] == ["echo", "slow"]
    trust = harness.runner.services.features.decisions
    assert isinstance(trust, Trust)
    assert trust.allowed == ["echo"]
