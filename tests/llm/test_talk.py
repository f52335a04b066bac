"""The agent with a real model and the real weather tool: a message goes in, an answer comes out."""

from __future__ import annotations

import time

from bot.agent.loop import Agent
from bot.agent.turn import Turn, TurnContext
from bot.errors import TurnFailed
from bot.live_events import AnswerRestarted, AnswerText
from bot.providers import AUTO, Provider, ToolChoice
from bot.providers.json_mode.client import JsonMode
from bot.providers.json_mode.response import MARKS
from bot.telemetry import Metrics
from tests.bot.pipeline.tool_rounds import Diary
from tests.bot.providers.asking import user
from tests.fakes.wttr import WttrFake
from tests.llm.asking import PATIENCE_S, asked_at
from tests.toolset.contexts import http_client, only_wttr
from toolset.tool import ValidatedTool, read_schemas
from toolset.tool_map import ToolMap
from toolset.weather import GetWeather

PERSONA = "You are Kaiwa, an assistant that people talk to in a chat."
# A model of this size does what it has been shown: by the template for tools, and by JSON mode's
# first example.
BY_TEMPLATE = "How is the weather in Kyoto?"
BY_EXAMPLE = "What's the weather in Kyoto?"


async def talk(provider: Provider, question: str, choice: ToolChoice = AUTO) -> Turn:
    """The turn of a question, with a tool that asks a stand-in for the weather; nonsense in the end
    is an apology."""
    place = TurnContext("console:test", "", "en", "Asia/Tokyo", Diary({}), tool_choice=choice)
    turn = Turn("turn_1", place, [], [user(question)], Diary({}), time.monotonic() + PATIENCE_S)
    with WttrFake().served() as wttr:
        wttr.place("Kyoto", temp=21)
        async with http_client() as http:
            weather = GetWeather.create(http, only_wttr(wttr))
            tools = ToolMap([ValidatedTool(weather, *read_schemas("get_weather"))])
            try:
                await Agent(provider, tools, PERSONA, Metrics(), max_tool_turns=2).run(turn)
            except TurnFailed as failed:
                if failed.apology != "malformed":
                    raise
    return turn


def shown(turn: Turn) -> str:
    """What the person has read in the end."""
    diary = turn.context.watcher
    assert isinstance(diary, Diary)
    words = ""
    for event in diary.shown:
        words = "" if isinstance(event, AnswerRestarted) else words
        words += event.text if isinstance(event, AnswerText) else ""
    return words


def assert_in_order(turn: Turn) -> None:
    """Each call has its result; what was shown is the answer where there is one, and never what it
    was written in."""
    called = [call.id for message in turn.added for call in message.calls]
    assert [result.call_id for message in turn.added for result in message.results] == called
    if turn.answer is not None:
        assert turn.answer.text.strip()
        assert shown(turn).endswith(turn.answer.text)
    assert not any(mark in shown(turn) for mark in MARKS)


async def test_a_question_goes_to_the_model_and_comes_back(smollm_with_tools: str) -> None:
    """Over ``openai:``, where the model may call a tool by itself."""
    async with asked_at(smollm_with_tools, 96) as provider:
        assert_in_order(await talk(provider, BY_TEMPLATE))


async def test_a_question_is_taken_to_a_tool_in_json(smollm: str) -> None:
    """Over ``json:``, where the model is told to call it, as by a command."""
    async with asked_at(smollm, 192) as writer:
        turn = await talk(JsonMode(writer), BY_EXAMPLE, ToolChoice("one", "get_weather"))
    assert_in_order(turn)
    assert [call.name for message in turn.added for call in message.calls][:1] == ["get_weather"]
