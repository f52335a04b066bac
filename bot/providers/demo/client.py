"""The demo model: rules that call tools in English and Japanese, without key and network."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from bot.providers import (
    MediaSupport,
    ModelResponse,
    Request,
    StreamEvent,
    ToolChoice,
    model_message,
    replay,
)
from bot.providers.demo.request import Call, Turn, read_turn
from bot.providers.demo.response import answer
from bot.telemetry.observed import OBSERVER, RequestSent, ResponseRead
from bot.texts import Texts
from bot.transcript import Message, Part, Text, ToolCall, Usage, encode, new_id

# The arguments for a request that forces a call without naming a wish.
ARGUMENTS = {"get_weather": {"location": "Tokyo"}, "calculate": {"expression": "1 + 1"}}


class Demo:
    """Answers by rules; a text of no language, such as ``3 * 7``, in the language given."""

    name = "demo"
    window = 0
    searches = False
    media = MediaSupport(reads_texts=False)
    model = "demo"

    def __init__(self, texts: Texts, language: str = "en") -> None:
        self._texts = texts
        self._language = language

    async def stream(self, request: Request) -> AsyncGenerator[StreamEvent]:
        """Make the calls that have no result yet, else answer; a token counts as four bytes."""
        messages = request.messages
        if observe := OBSERVER.get():
            observe(RequestSent(self.model, (encode([request.system, messages]),)))
        turn = read_turn(messages, self._language)
        offered = [tool.name for tool in request.tools]
        calls = _calls(turn, offered, request.tool_choice)

        def say(key: str, /, **values: object) -> str:
            return self._texts.get(f"demo.{key}", turn.language, **values)

        parts: list[Part] = [ToolCall(new_id("call"), name, dict(given)) for name, given in calls]
        if not parts:
            parts.append(Text(answer(say, turn, offered)))
        message = model_message(parts)
        usage = Usage(input=_tokens(request.system, messages), output=_tokens("", [message]))
        response = ModelResponse(message, "tool_use" if calls else "end_turn", usage, self.model)
        if observe:
            read = (encode(message),)
            observe(ResponseRead(self.model, read, message, response.stop_reason, usage))
        for event in replay(response):
            yield event

    async def check(self) -> str:
        """Always fine: there is no network."""
        return "demo: needs no key and no network"

    async def aclose(self) -> None:
        """Nothing: there are no connections."""


def _calls(turn: Turn, offered: Sequence[str], choice: ToolChoice) -> list[Call]:
    allowed = [name for name in offered if choice.mode != "one" or name == choice.name]
    if choice.mode == "none" or not allowed:
        return []
    done = [call for call, _ in turn.results()]
    calls: list[Call] = []
    for wish in turn.wishes:
        if wish.call[0] in allowed and wish.call not in done + calls:
            calls.append(wish.call)
    if not calls and choice.mode != "auto":
        calls.append((allowed[0], ARGUMENTS.get(allowed[0], {})))
    return calls


def _tokens(system: str, messages: Sequence[Message]) -> int:
    return (len(system) + len(encode([message.parts for message in messages]))) // 4
