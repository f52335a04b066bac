"""The response of Ollama: the lines of one stream become neutral events and one neutral
response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from bot.providers import StopReason, TextDelta, ToolCallDelta
from bot.providers.ollama.request import PROVIDER
from bot.providers.shared import streaming
from bot.providers.shared.failures import Failures
from bot.providers.shared.streaming import event_decoder
from bot.transcript import Message, Opaque, Text, ToolCall, Usage

STOP_REASONS: dict[str, StopReason] = {"stop": "end_turn", "length": "max_tokens"}


class _Function(Struct):
    name: str | None = None
    arguments: dict[str, Any] | str | None = None


class _ToolCall(Struct):
    id: str | None = None
    function: _Function | None = None


class _Message(Struct):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[_ToolCall] | None = None


class _Line(Struct):
    message: _Message | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    model: str | None = None
    error: str | None = None


_line = event_decoder(_Line, lambda line: bool(line.message and line.message.tool_calls))


class Answer(streaming.Answer):
    """One answer while it is read."""

    stop_reasons = STOP_REASONS

    def __init__(
        self, asked: str, failures: Failures, messages: Sequence[Message], *, may_call: bool
    ) -> None:
        super().__init__(asked, failures, messages, may_call=may_call)
        self._thoughts: list[str] = []

    def take(self, data: bytes) -> Iterator[TextDelta | ToolCallDelta]:
        """Read one line and yield what it adds to the answer."""
        line = _line(data)
        if line.error is not None:
            raise self._failures.refusal(500, message=line.error)
        if line.message is not None:
            yield from self._take_message(line.message)
        if line.done:
            # Older servers name none.
            self._finish = line.done_reason or "stop"
            self._usage = Usage(input=line.prompt_eval_count or 0, output=line.eval_count or 0)
        self._model = line.model or self._model

    def _take_message(self, message: _Message) -> Iterator[TextDelta | ToolCallDelta]:
        if message.thinking:
            self._thoughts.append(message.thinking)
        if message.content:
            self._texts.append(message.content)
            yield TextDelta(message.content)
        if not self._may_call:
            return
        for call in message.tool_calls or ():
            function = call.function or _Function()
            yield self._calls.take(None, call.id, function.name, function.arguments)

    def _opaque(self, parts: Sequence[Text | ToolCall], reason: StopReason) -> Opaque | None:
        """The thoughts; a turn without calls is over, so its thoughts are of no use."""
        thoughts = "".join(self._thoughts)
        if not thoughts or reason != "tool_use":
            return None
        return Opaque(PROVIDER, self.asked, thoughts.encode())
