"""The real tools with fixed results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import toolset
from bot.evals.canned import NO_RESULT, canned_tools
from bot.evals.questions import Question
from tests.toolset.contexts import context, http_client
from toolset.sources import own_tools

WEATHER = {"location": "{location}", "condition": "Sunny", "current_temp_c": "9", "days": []}
ASKED = Question(
    "a-en",
    "one_tool",
    "en",
    "?",
    results={"get_weather": {"error": "timed out after 3 s"}, "tick": {"ticked": []}},
)


async def outcome(name: str, conversation: str, arguments: dict[str, Any]) -> Any:
    """The response of a tool in the conversation of a question."""
    shared: dict[str, dict[str, Any]] = {
        "get_weather": WEATHER,
        "tick": {"ticked": "{=numbers}"},
        "calculate": {"result": "{expression} {x|?} {y}", "is_exact": True},
    }
    tools = canned_tools([ASKED], shared)
    return (
        await tools.call(name, arguments, replace(context(), conversation=conversation))
    ).response


async def test_they_are_defined_as_the_real_ones_are() -> None:
    """The model is told the same; those that need a setting are among them."""
    async with http_client() as http:
        real = toolset.build(own_tools(), http, lambda config: config())
    canned = canned_tools([], {})
    defined = {one.name: one for one in real.definitions}
    assert {name: canned[name].definition for name in defined} == defined
    assert {"web_search", "run_command"} <= set(canned)
    assert canned.commands == canned_tools([], {}).commands


async def test_arguments_are_put_into_the_response() -> None:
    """As a text, as they are, or what stands for one that is left out."""
    assert await outcome("get_weather", "b-en", {"location": "Kyoto"}) == WEATHER | {
        "location": "Kyoto"
    }
    assert await outcome("tick", "b-en", {"numbers": [2, 3]}) == {"ticked": [2, 3]}
    assert await outcome("calculate", "b-en", {"expression": "1"}) == {
        "result": "1 ? ",
        "is_exact": True,
    }


async def test_a_question_may_have_its_own_response() -> None:
    """Or a failure; another one has the shared response."""
    assert await outcome("tick", "a-en", {"numbers": [2]}) == {"ticked": []}
    assert await outcome("get_weather", "a-en", {"location": "Kyoto"}) == {
        "error": "timed out after 3 s"
    }


async def test_arguments_are_validated_as_ever() -> None:
    """The model reads what is wrong; and where nobody has declared a response, that there is
    none."""
    assert (await outcome("get_weather", "b-en", {}))["error"].startswith("invalid parameters: ")
    assert await outcome("wikipedia", "b-en", {"query": "x"}) == {"error": NO_RESULT}
