"""The response of an OpenAI-compatible server: the events of one stream become neutral events and
one neutral response.

Nearly every field may be absent, so each has a default; fields without a name here are ignored. A
server that does not stream sends the whole answer as one event, with ``message`` in place of
``delta``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from bot.providers import StopReason, TextDelta, ToolCallDelta
from bot.providers.openai.failures import kind_of
from bot.providers.openai.request import PROVIDER, Extras
from bot.providers.shared import streaming
from bot.providers.shared.failures import Failures, status_of
from bot.providers.shared.streaming import DONE, USUAL, event_decoder
from bot.transcript import Message, Opaque, Text, ToolCall, Usage, encode
from toolset.web.decoding import decode_json

JSON = dict[str, Any]

THOUGHTS = ("reasoning_content", "reasoning")
# These fields of a block of thoughts grow by pieces.
GROWING = ("text", "summary", "data")


STOP_REASONS: dict[str, StopReason] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "blocked",
}


class _Function(Struct):
    name: str | None = None
    arguments: str | JSON | None = None


class _ToolCall(Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None
    extra_content: JSON | None = None


class _Delta(Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_ToolCall] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[JSON] | None = None
    extra_content: JSON | None = None


class _Choice(Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _PromptDetails(Struct):
    cached_tokens: int | None = None


class _CompletionDetails(Struct):
    reasoning_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    completion_tokens_details: _CompletionDetails | None = None


class _Event(Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    model: str | None = None
    error: Any = None
    object: str | None = None


def _has_calls(event: _Event) -> bool:
    deltas = (choice.delta or choice.message for choice in event.choices or ())
    return any(delta.tool_calls for delta in deltas if delta)


_event = event_decoder(_Event, _has_calls)


class Answer(streaming.Answer):
    """One answer while it is read."""

    stop_reasons = STOP_REASONS

    def __init__(
        self, asked: str, failures: Failures, messages: Sequence[Message], *, may_call: bool
    ) -> None:
        super().__init__(asked, failures, messages, may_call=may_call)
        self._refusals: list[str] = []
        self._thoughts: defaultdict[str, list[str]] = defaultdict(list)
        self._blocks = _Blocks()
        self._extras = Extras()

    def take(self, data: bytes) -> Iterator[TextDelta | ToolCallDelta]:
        """Read one event and yield what it adds to the answer."""
        if data == DONE:
            self._finish = self._finish or "stop"
            return
        event = _event(data)
        if event.error or event.object == "error":
            raise self._error(event.error or decode_json(data, JSON))
        for choice in (event.choices or ())[:1]:
            self._finish = choice.finish_reason or self._finish
            if (delta := choice.delta or choice.message) is not None:
                yield from self._take_delta(delta)
        if event.usage:
            self._usage = _usage(event.usage)
        self._model = event.model or self._model

    def _take_delta(self, delta: _Delta) -> Iterator[TextDelta | ToolCallDelta]:
        for name in THOUGHTS:
            if more := getattr(delta, name):
                self._thoughts[name].append(more)
        for block in delta.reasoning_details or ():
            self._blocks.take(block)
        if delta.extra_content:
            self._extras.message["extra_content"] = delta.extra_content
        self._refusals.append(delta.refusal or "")
        if delta.content:
            self._texts.append(delta.content)
            yield TextDelta(delta.content)
        if not self._may_call:
            return
        for piece in delta.tool_calls or ():
            function = piece.function or _Function()
            taken = self._calls.take(piece.index, piece.id, function.name, function.arguments)
            if piece.extra_content:
                of_calls = self._extras.calls
                of_calls += [{} for _ in range(taken.index + 1 - len(of_calls))]
                of_calls[taken.index]["extra_content"] = piece.extra_content
            yield taken

    def _stop_reason(self) -> StopReason:
        if any(self._refusals) and not self._texts:
            return "blocked"
        if "malformed" in self._finish.lower():
            return "malformed"
        return super()._stop_reason()

    def _opaque(self, parts: Sequence[Text | ToolCall], reason: StopReason) -> Opaque | None:
        extras = self._extras
        extras.message |= {name: "".join(pieces) for name, pieces in self._thoughts.items()}
        if blocks := self._blocks.whole():
            extras.message["reasoning_details"] = blocks
        if reason not in USUAL:
            extras.calls = []
        return Opaque(PROVIDER, self.asked, encode(extras)) if extras != Extras() else None

    def _detail(self) -> str:
        return f"{self._finish} {''.join(self._refusals)}".strip()

    def _error(self, error: Any) -> Exception:
        fields: JSON = error if isinstance(error, dict) else {"message": str(error)}
        code, kind, message = fields.get("code"), fields.get("type"), fields.get("message")
        words = str(message or "")
        status = status_of(code, str(kind or ""))
        return self._failures.refusal(status, kind_of(code, kind, words), words)


class _Blocks:
    """OpenRouter's reasoning blocks: the pieces of a block come one after another, with the same
    type and index."""

    def __init__(self) -> None:
        self._blocks: list[JSON] = []
        # These are the pieces for each field of the last block.
        self._grown: dict[str, list[str]] = {}

    def take(self, piece: JSON) -> None:
        last = self._blocks[-1] if self._blocks else None
        if last is None or any(last.get(name) != piece.get(name) for name in ("type", "index")):
            self._finish()
            self._blocks.append(dict(piece))
            return
        for name, value in piece.items():
            if name in GROWING and isinstance(value, str) and isinstance(last.get(name), str):
                self._grown.setdefault(name, []).append(value)
            elif value is not None:
                self._finish()
                last[name] = value

    def whole(self) -> list[JSON]:
        """The blocks so far."""
        self._finish()
        return self._blocks

    def _finish(self) -> None:
        for name, pieces in self._grown.items():
            self._blocks[-1][name] = "".join((self._blocks[-1][name], *pieces))
        self._grown = {}


def _usage(counts: _Usage) -> Usage:
    """OpenAI counts thinking as output too."""
    details = counts.completion_tokens_details or _CompletionDetails()
    cached = (counts.prompt_tokens_details or _PromptDetails()).cached_tokens or 0
    thinking = details.reasoning_tokens or 0
    output = max(0, (counts.completion_tokens or 0) - thinking)
    return Usage(counts.prompt_tokens or 0, cached, output, thinking)
