"""``json:`` speaks to a real server: every answer is an object by the schema, and nobody ever sees
one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.providers import AUTO, NONE, ToolChoice
from bot.providers.json_mode.client import JsonMode
from bot.providers.json_mode.response import MARKS
from bot.transcript import ToolCall
from tests.bot.providers.asking import Reply, ask, model, results, user
from tests.llm.asking import TIME, TOOLS, WEATHER, asked_at, assert_valid
from tests.llm.running import MODEL

MOST = 2 * 128  # an answer that cannot be used is asked for once more


@pytest.fixture
async def provider(smollm: str) -> AsyncIterator[JsonMode]:
    """JSON mode over the model as it comes."""
    async with asked_at(smollm, max_output_tokens=128) as writer:
        yield JsonMode(writer)


def assert_proper(asked: Reply) -> None:
    """Whole, with calls that are valid where there are any, and without a piece of the object."""
    assert asked.response.model == MODEL
    assert 0 < asked.response.usage.output <= MOST
    assert not any(mark in asked.text for mark in MARKS)
    if asked.response.stop_reason == "tool_use":
        assert_valid(asked.response.message)
    else:
        assert asked.calls == []
        assert asked.response.stop_reason in ("end_turn", "max_tokens", "malformed")


@pytest.mark.parametrize("choice", [AUTO, NONE], ids=["auto", "none"])
@pytest.mark.parametrize("words", ["How is the weather in Tokyo?", "東京の天気は?", "Thank you!"])
async def test_an_answer_is_words_or_a_call(
    provider: JsonMode, words: str, choice: ToolChoice
) -> None:
    """Which of them is up to the model, where it may call at all."""
    asked = await ask(provider, [user(words)], TOOLS, choice)
    assert_proper(asked)
    assert choice == AUTO or not asked.calls


async def test_without_tools_there_are_words_alone(provider: JsonMode) -> None:
    """Pieces of the reply are shown while the object is written."""
    assert_proper(await ask(provider, [user("Say hello.")]))


@pytest.mark.parametrize(
    ("choice", "tools"),
    [
        (ToolChoice("required"), {WEATHER.name, TIME.name}),
        (ToolChoice("one", TIME.name), {TIME.name}),
    ],
    ids=["required", "one"],
)
async def test_a_call_that_must_be_made_is_made(
    provider: JsonMode, choice: ToolChoice, tools: set[str]
) -> None:
    """The schema leaves the model no way around it."""
    asked = await ask(provider, [user("Hm.")], TOOLS, choice)
    assert_proper(asked)
    assert asked.response.stop_reason in ("tool_use", "max_tokens")
    assert {name for name, _ in asked.calls} <= tools


async def test_a_call_its_result_and_an_answer(provider: JsonMode) -> None:
    """The server takes the conversation, and the model goes on from the result."""
    called = model(ToolCall("c1", WEATHER.name, {"location": "Tokyo"}))
    reported = [
        user("How is the weather in Tokyo?"),
        called,
        results(called, {"condition": "Sunny"}),
    ]
    assert_proper(await ask(provider, reported, TOOLS))


async def test_an_answer_that_is_too_long_is_cut(smollm: str) -> None:
    """After the repair is cut as well, nothing of the object is shown."""
    async with asked_at(smollm, max_output_tokens=6) as writer:
        asked = await ask(JsonMode(writer), [user("Count to a hundred.")], TOOLS)
    assert_proper(asked)
    assert asked.response.stop_reason == "max_tokens"


async def test_a_model_is_found_by_its_name(provider: JsonMode) -> None:
    """As its writer finds it."""
    assert await provider.check() == f"{MODEL} answers"
