"""``/weather Tokyo``: the tool that a message names is called first."""

from __future__ import annotations

from typing import Any

import pytest

from bot.agent.loop import choice_in
from bot.commands import SpokenCommands
from bot.pipeline.commands import Commands
from bot.providers import AUTO, NONE, ToolChoice
from bot.providers.scripted import Step
from bot.store import Store
from bot.texts import load
from bot.transcript import Message, Text, ToolCall
from tests.bot.harness import HERE, Harness
from tests.fakes.tools import ANY_OBJECT, Echo, tool_map
from toolset.offer.rules import Rule
from toolset.tool import ValidatedTool
from toolset.tool_map import ToolMap

NEEDY: dict[str, Any] = {
    "type": "object",
    "properties": {"place": {"type": "string"}},
    "required": ["place"],
}


class Weather(Echo):
    """Needs to be told a place."""

    name = "get_weather"
    commands = ("weather", "天気")


class Clock(Echo):
    """Needs nothing."""

    name = "get_time"
    commands = ("time",)


TOOLS = ToolMap(
    [
        ValidatedTool(Weather(), NEEDY, ANY_OBJECT),
        ValidatedTool(Clock(), ANY_OBJECT, ANY_OBJECT),
        ValidatedTool(Echo(), ANY_OBJECT, ANY_OBJECT),
    ]
)
WEATHER, CLOCK = ToolChoice("one", "get_weather"), ToolChoice("one", "get_time")


def user_message(text: str) -> Message:
    return Message("m", "user", (Text(text),), 1)


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("/weather Tokyo", WEATHER),
        ("/Weather\nTokyo and\nKyoto", WEATHER),
        (" ／天気　東京", WEATHER),
        ("/time", CLOCK),
        ("/time in Paris", CLOCK),
        ("/weather", AUTO),
        ("/weather ", AUTO),
        ("/weathers Tokyo", AUTO),
        ("/echo hello", AUTO),
        ("/nonsense", AUTO),
        ("weather Tokyo", AUTO),
        ("what is /weather Tokyo", AUTO),
        ("/ weather Tokyo", AUTO),
        ("//weather Tokyo", AUTO),
        ("", AUTO),
    ],
)
def test_a_command_at_the_beginning_names_its_tool(text: str, choice: ToolChoice) -> None:
    """In any script and case; without the words its tool needs, and everywhere else, it is ordinary
    text."""
    assert choice_in([user_message(text)], TOOLS) == choice


@pytest.mark.parametrize("text", ["／help", "／ＨＥＬＰ", "／ヘルプ", "ﾍﾙﾌﾟ！"])
def test_a_commands_words_may_have_any_width(text: str) -> None:
    """Japanese keyboards write letters and slashes as wide as kana, and kana half as wide."""
    assert SpokenCommands(load()).read(text) == "help"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("ＯＫ", "approve"),
        ("ｏｋ！", "approve"),
        ("ＮＯ", "reject"),
        ("ﾀﾞﾒ", "reject"),
        ("Hello", None),
    ],
)
def test_the_words_of_an_answer_may_have_any_width(text: str, answer: str | None) -> None:
    """A wide yes is no refusal in other words."""
    assert SpokenCommands(load()).answer(text) == answer


def test_the_newest_command_counts() -> None:
    """Messages that were sent together are answered together."""
    assert (
        choice_in(
            [user_message("/weather Tokyo"), user_message("/time"), user_message("please")], TOOLS
        )
        == CLOCK
    )


def test_a_tool_that_is_not_offered_is_not_named() -> None:
    """As under READ_ONLY."""
    assert choice_in([user_message("/weather Tokyo")], ToolMap([])) == AUTO


async def test_the_named_tool_is_called_first_and_the_model_is_free_afterwards(
    store: Store,
) -> None:
    """Its words reach the model as they were written."""
    clock = Clock()
    harness = Harness(
        store, [Step(calls=(ToolCall("c1", "get_time", {}),)), Step("Noon")], tools=tool_map(clock)
    )
    await harness.say("/time in Paris", "m1")
    assert [request.tool_choice for request in harness.model.requests] == [CLOCK, AUTO]
    assert harness.model.requests[0].messages[-1].text == "/time in Paris"
    assert harness.box.texts == ["Noon"]
    assert len(clock.contexts) == 1


async def test_the_last_request_of_a_turn_forbids_tools_also_after_a_command(store: Store) -> None:
    """Forced, free, and at last none."""
    calls = [Step(calls=(ToolCall(f"c{n}", "get_time", {"n": n}),)) for n in range(10)]
    harness = Harness(store, [*calls, Step("Noon")], tools=tool_map(Clock()))
    await harness.say("/time", "m1")
    assert [request.tool_choice for request in harness.model.requests] == [CLOCK, *[AUTO] * 9, NONE]


@pytest.mark.parametrize(
    ("asked", "line"), [("/help", "Begin a message with /time and"), ("ヘルプ", "/time で始めると")]
)
async def test_help_tells_the_commands(store: Store, asked: str, line: str) -> None:
    """At its end, in the reader's language."""
    harness = Harness(store, [], tools=tool_map(Clock()))
    await harness.say(asked, "m1")
    assert line in harness.box.texts[0].splitlines()[-1]


async def test_help_tells_the_commands_of_its_place(store: Store) -> None:
    """Not those of tools that the rules keep for others."""
    rules = (Rule(conversation=HERE, tools=()),)
    harness = Harness(store, [], tools=ToolMap(tool_map(Clock()).values(), rules))
    await harness.say("/help", "m1")
    assert "/time" not in harness.box.texts[0]


async def test_a_spoken_command_has_a_row_in_the_table_and_words_in_the_catalogue(
    store: Store,
) -> None:
    """Words without a row would do nothing; a row without words could not be said."""
    services = Harness(store, []).runner.services
    commands = Commands(services)
    assert sorted(commands.table) == sorted(SpokenCommands(load()).names)
