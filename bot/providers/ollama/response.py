"""The response of Ollama: the lines of one stream become neutral events and one neutral
response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from bot.providers import ModelResponse, StopReason, TextDelta, ToolCallDelta
from bot.providers.ollama.failures import Refusals
from bot.providers.ollama.request import PROVIDER
from bot.providers.shared.response import Calls, build_response, event_decoder
from bot.transcript import Message, Opaque, Text, Usage

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


class Answer:
    """One answer while it is read.

    Args:
        may_call: whether calls are kept.
    """

    def __init__(
        self, model: str, messages: Sequence[Message], refusals: Refusals, *, may_call: bool
    ) -> None:
        self._asked = model
        self._refusals = refusals
        self._may_call = may_call
        self._calls = Calls(messages)
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._done = ""
        self._usage = Usage()
        self._model = model

    def take(self, data: bytes) -> Iterator[TextDelta | ToolCallDelta]:
        """Read one line and yield what it adds to the answer.

        Raises:
            ModelError: the line is an error that came after the 200.
            DecodeError: the line is not in Ollama's form.
        """
        line = _line(data)
        if line.error is not None:
            raise self._refusals.refusal(500, line.error)
        if line.message is not None:
            yield from self._take_message(line.message)
        if line.done:
            # Older servers name none.
            self._done = line.done_reason or "stop"
            self._usage = Usage(input=line.prompt_eval_count or 0, output=line.eval_count or 0)
        self._model = line.model or self._model

    def response(self) -> ModelResponse:
        """The whole answer.

        Raises:
            TryAgain: the stream broke off.
        """
        if not self._done:
            raise self._refusals.failures.broken_off()
        calls = self._calls.whole()
        reason = STOP_REASONS.get(self._done, "other")
        thoughts = "".join(self._thoughts)
        # A turn without calls is over, so its thoughts are of no use.
        keeps = bool(thoughts and calls and reason == "end_turn")
        return build_response(
            [Text("".join(self._texts)), *(calls or ())],
            "malformed" if calls is None and reason == "end_turn" else reason,
            model=self._model,
            usage=self._usage,
            opaque=Opaque(PROVIDER, self._asked, thoughts.encode()) if keeps else None,
            detail=self._done,
        )

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
