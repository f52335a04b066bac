"""What differs in a turn: persona, model, tools and limits, and nothing else."""

from __future__ import annotations

import pytest

from bot.agent.loop import USUAL, Agent, Configuration
from bot.providers.scripted import Scripted, Step
from bot.telemetry import Metrics
from bot.transcript import ToolCall
from tests.bot.agent.test_loop import Notes, make_turn
from tests.fakes.tools import Echo, Slow, tool_map
from toolset.offer.rules import Rule

PIRATE, POET = Configuration("Pirate."), Configuration("Poet.")


@pytest.mark.parametrize(
    ("given", "system"),
    [
        (USUAL, "PERSONA RULES"),
        (PIRATE, "PERSONA RULES\n\nPirate."),
        (Configuration("Pirate.", replaces_persona=True), "Pirate.\n\nRULES"),
        (PIRATE.then(POET), "PERSONA RULES\n\nPirate.\n\nPoet."),
        (PIRATE.then(Configuration("Poet.", replaces_persona=True)), "Poet.\n\nRULES"),
        (Configuration("Poet.", replaces_persona=True).then(PIRATE), "Poet.\n\nPirate.\n\nRULES"),
    ],
)
async def test_no_persona_takes_the_place_of_the_rules(given: Configuration, system: str) -> None:
    """A later one is added to an earlier one, or stands in its place."""
    model = Scripted([Step("Ahoy"), Step("Hello")])
    agent = Agent(model, tool_map(), "PERSONA RULES", Metrics(), rules="RULES")
    await agent.configured(given).run(make_turn(Notes()))
    await agent.run(make_turn(Notes()))
    assert [request.system for request in model.requests] == [
        f"{prompt}\n\nSTYLE" for prompt in (system, "PERSONA RULES")
    ]


async def test_the_tools_of_a_turn_are_those_that_all_offer_now() -> None:
    """No round of calls is left where the lower limit is reached, and another model answers."""
    model, other = Scripted([]), Scripted([Step(calls=(ToolCall("c1", "slow", {}),)), Step("No")])
    agent = Agent(model, tool_map(Echo(), Slow()), "SYSTEM", Metrics())
    narrow = Configuration(offers=(lambda _: Rule(tools=("e*",)),), max_tool_turns=1)
    given = narrow.then(Configuration(provider=other, max_tool_turns=3))
    assert given.max_tool_turns == 1
    await agent.configured(given).run(make_turn(Notes()))
    first, second = other.requests
    assert [tool.name for tool in first.tools] == ["echo"]
    assert (first.tool_choice.mode, second.tool_choice.mode) == ("auto", "none")
    last = given.then(Configuration(offers=(lambda _: Rule(tools=("slow",)),)))
    assert last.provider is other
    assert len(last.offers) == 2
