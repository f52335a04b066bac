"""What calls return beside their objects reaches the answer, also by a process that goes on with
the turn."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Self

import httpx
import pytest
from msgspec.json import Decoder
from pydantic import BaseModel

from bot.agent.tool_runner import CARD_SHOWN
from bot.channels import Reply, say_buttons
from bot.providers.scripted import Step
from bot.store import Store
from bot.transcript import ToolCall, ToolResult, encode
from tests.bot.harness import Harness, edited
from tests.bot.pipeline.held_turns import held
from toolset.shown import Card, Shown
from toolset.tool import NoConfig, Risk, ToolContext, ValidatedTool
from toolset.tool_map import ToolMap

OBJECT = {"type": "object"}


class Measure:
    """Shows what it is told to."""

    name: ClassVar[str] = "measure"
    description: ClassVar[str] = "Measures."
    risk: ClassVar[Risk] = "low"
    Config: ClassVar[type[BaseModel]] = NoConfig

    def __init__(self, *shown: Shown) -> None:
        self._shown = list(shown)

    @classmethod
    def create(cls, http: httpx.AsyncClient, config: NoConfig) -> Self:
        """Never called: a test builds it."""
        raise NotImplementedError

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> Shown:
        """Return the next."""
        number: int = arguments["n"]
        return self._shown[number]


async def answered(store: Store, *shown: Shown) -> tuple[Harness, Reply]:
    """A turn with a call for each, one after another, and its answer."""
    steps = [
        Step(calls=(ToolCall(f"c{number}", "measure", {"n": number}),))
        for number in range(len(shown))
    ]
    tools = ToolMap([ValidatedTool(Measure(*shown), OBJECT, OBJECT)])
    harness = Harness(store, [*steps, Step("Here it is.")], tools=tools)
    await harness.say("Measure!", "m1")
    (delivery,) = harness.box.delivered
    return harness, delivery.reply


def card(title: str, value: str = "1") -> Card:
    """A card with one row."""
    return Card(title, (("x", value),))


async def test_the_model_reads_that_people_see_a_card(store: Store) -> None:
    """It gets the object, and no card."""
    harness, reply = await answered(store, Shown({"x": 1}, card=card("A")))
    assert reply == Reply("Here it is.", cards=(card("A"),))
    [result] = harness.model.requests[-1].messages[-1].results
    assert result.response == {"card": CARD_SHOWN, "x": 1}


async def test_an_objects_own_card_stays(store: Store) -> None:
    """A tool may say itself what people see."""
    harness, _ = await answered(store, Shown({"card": "on the wall"}, card=card("A")))
    assert harness.model.requests[-1].messages[-1].results[0].response == {"card": "on the wall"}


async def test_an_answer_has_the_newest_cards_and_choices(store: Store) -> None:
    """A list that has changed is shown once, as it is now; the choices are those offered last."""
    shown = [Shown({}, card=card(title)) for title in "ABCD"]
    first, last = (
        Shown({}, choices=("Yes", "No")),
        Shown({}, card=card("C", "2"), choices=("Today", "Tomorrow")),
    )
    _, reply = await answered(store, first, *shown, last, Shown({}))
    assert [one.title for one in reply.cards] == ["B", "C", "D"]
    assert reply.cards[1] == card("C", "2")
    assert reply.buttons == say_buttons(("Today", "Tomorrow"))


@pytest.mark.parametrize(("calls_again", "cards"), [(True, ["Osaka"]), (False, ["Tokyo"])])
async def test_an_edited_question_shows_what_was_called_for_it(
    store: Store, calls_again: bool, cards: list[str]
) -> None:
    """Where the new words need another call; after a mended typo the card stays."""
    first, second = (
        Step(calls=(ToolCall(f"c{number}", "measure", {"n": number}),)) for number in range(2)
    )
    gated = Step("Never sent.", gate=asyncio.Event())
    tools = ToolMap(
        [
            ValidatedTool(
                Measure(*(Shown({}, card=card(city)) for city in ("Tokyo", "Osaka"))),
                OBJECT,
                OBJECT,
            )
        ]
    )
    harness = Harness(
        store, [first, gated, *([second] if calls_again else []), Step("Here.")], tools=tools
    )
    await harness.receive("Tokio?", "m1")
    async with held(harness, gated):
        await harness.arrive(edited("e1", "m1", "Osaka?" if calls_again else "Tokyo?"))
    [delivery] = harness.box.delivered
    assert [one.title for one in delivery.reply.cards] == cards


async def test_no_choice_is_a_command(store: Store) -> None:
    """A press must delete nothing: words that are one stand in quotation marks, and go to the
    model."""
    harness, reply = await answered(store, Shown({}, choices=("Reset", "Restart", "forget me")))
    choices = "“Reset”", "Restart", "“forget me”"
    assert reply.buttons == say_buttons(choices)
    [result] = harness.model.requests[-1].messages[-1].results
    assert result.choices == choices
    assert all(harness.runner.services.commands.read(choice) is None for choice in choices)


def test_what_is_stored_of_a_call_has_its_card_and_choices() -> None:
    """Another process goes on with it."""
    result = ToolResult("c1", "measure", {}, card=card("A"), choices=("a", "b"))
    assert Decoder(ToolResult).decode(encode(result)) == result
