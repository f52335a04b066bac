"""What the model is asked, and what holds for whatever it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.providers import Completed, TextDelta, ToolCallDelta
from bot.providers.openai.client import OpenAI
from bot.providers.openai.request import COMPATIBLE
from bot.providers.shared.entry import Options
from bot.providers.shared.schema_dialect import adapt
from bot.transcript import Message
from tests.bot.providers.asking import Reply
from tests.llm.running import MODEL
from toolset.schema import Schema
from toolset.tool import ToolDefinition

PATIENCE_S = 120.0  # a busy machine reads some fifty tokens in a second
PLACE = {
    "type": "string",
    "description": "a city",
    "minLength": 1,
    "maxLength": 30,
    "pattern": "^[^@:/]+$",
}
WEATHER = ToolDefinition(
    "get_weather",
    "Tells the weather of a place.",
    {
        "type": "object",
        "properties": {"location": PLACE},
        "required": ["location"],
        "additionalProperties": False,
    },
    {},
    strict=True,
)
TIME = ToolDefinition(
    "get_current_time", "Tells the time.", {"type": "object", "properties": {}}, {}
)
TOOLS = (WEATHER, TIME)


@asynccontextmanager
async def asked_at(base_url: str, max_output_tokens: int = 64) -> AsyncIterator[OpenAI]:
    """A provider without a key, as it is set up for a server of one's own."""
    provider = OpenAI(
        "",
        MODEL,
        base_url,
        Options(max_output_tokens, request_timeout_s=PATIENCE_S),
    )
    try:
        yield provider
    finally:
        await provider.aclose()


def assert_whole(asked: Reply, most: int) -> None:
    """Pieces first, then one response that is made of them and counts its tokens."""
    *pieces, last = asked.events
    assert isinstance(last, Completed)
    assert all(isinstance(piece, TextDelta | ToolCallDelta) for piece in pieces)
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextDelta)) == asked.text
    assert asked.response.model == MODEL
    assert asked.response.usage.input > 0
    assert 0 < asked.response.usage.output <= most


def assert_valid(message: Message) -> None:
    """Calls with ids of their own, of tools that there are, with arguments as they were asked
    for."""
    schemas = {tool.name: Schema(adapt(tool.parameters, COMPATIBLE.strict)) for tool in TOOLS}
    assert len({call.id for call in message.calls} - {""}) == len(message.calls) > 0
    assert [schemas[call.name].complaint(call.arguments) for call in message.calls] == [""] * len(
        message.calls
    )
