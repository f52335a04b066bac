"""The demo model: rules that call tools in English and Japanese, without key and network."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from bot.providers import (
    AUTO,
    Completed,
    MediaSupport,
    ModelResponse,
    StreamEvent,
    ToolChoice,
    replay,
)
from bot.providers.demo.request import Call, Turn, call_for, read_turn, signature
from bot.providers.demo.response import Voice, answer
from bot.providers.retry_policy import FIRST_TOKEN_TIMEOUT_S
from bot.texts import Texts
from bot.transcript import Message, Part, Text, ToolCall, Usage, encode, new_id
from toolset.tool import ToolDefinition

MOST_CALLS = 8  # in one response; the next response has the others

# The calls for a request that forces a call without naming a wish.
ANY_CALL: Mapping[str, Mapping[str, Any]] = {
    "get_current_time": {},
    "get_weather": {"location": "Tokyo"},
    "calculate": {"expression": "1 + 1"},
}


class Demo:
    """Answers by rules.

    Args:
        language: of answers to a text of no language, such as ``3 * 7``.
    """

    name = "demo"
    window = 0
    searches = False
    media = MediaSupport(reads_texts=False)
    model = "demo"

    def __init__(self, texts: Texts, language: str = "en") -> None:
        self._texts = texts
        self._language = language

    async def stream(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        tool_choice: ToolChoice = AUTO,
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Make the calls that wishes need and that have no result yet, else answer; a token counts
        as four bytes."""
        turn = read_turn(messages, self._language)
        offered = [tool.name for tool in tools]
        calls = _calls(turn, offered, tool_choice)
        parts: tuple[Part, ...] = tuple(
            ToolCall(new_id("call"), name, dict(arguments)) for name, arguments in calls
        )
        if not parts:
            parts = (Text(answer(Voice(self._texts, turn.language), turn, offered)),)
        message = Message(new_id("msg"), "model", parts, time.time_ns() // 1_000_000)
        for event in replay(message):
            yield event
        usage = Usage(input=_tokens(system, messages), output=_tokens("", (message,)))
        yield Completed(
            ModelResponse(message, "tool_use" if calls else "end_turn", usage, self.model)
        )

    async def check(self) -> str:
        """Always fine: there is no network."""
        return "demo: needs no key and no network"

    async def aclose(self) -> None:
        """Nothing: there are no connections."""


def _calls(turn: Turn, offered: Sequence[str], choice: ToolChoice) -> list[Call]:
    allowed = [name for name in offered if choice.mode != "one" or name == choice.name]
    if choice.mode == "none" or not allowed:
        return []
    wished = {
        signature(*call): call
        for wish in turn.wishes
        if (call := call_for(wish)) and call[0] in allowed
    }
    open_calls = [call for key, call in wished.items() if key not in turn.results][:MOST_CALLS]
    if open_calls or choice.mode == "auto":
        return open_calls
    name = next((name for name in ANY_CALL if name in allowed), allowed[0])
    return [(name, ANY_CALL.get(name, {}))]


def _tokens(system: str, messages: Sequence[Message]) -> int:
    return (len(system) + sum(len(encode(message.parts)) for message in messages)) // 4
