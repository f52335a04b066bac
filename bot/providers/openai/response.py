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

from bot.providers import ModelResponse, StopReason, TextDelta, ToolCallDelta
from bot.providers.openai.failures import kind_of
from bot.providers.openai.request import PROVIDER, Extras
from bot.providers.shared.failures import Failures, status_of
from bot.providers.shared.response import Calls, build_response, event_decoder
from bot.transcript import Message, Opaque, Text, Usage, encode
from toolset.web.decoding import decode_json

JSON = dict[str, Any]
DONE = b"[DONE]"

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


class Answer:
    """One answer while it is read.

    Args:
        may_call: whether calls are kept; small servers ignore the tool choice.
    """

    def __init__(
        self, model: str, messages: Sequence[Message], failures: Failures, *, may_call: bool
    ) -> None:
        self._asked = model
        self._failures = failures
        self._may_call = may_call
        self._calls = Calls(messages)
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._thoughts: defaultdict[str, list[str]] = defaultdict(list)
        self._blocks = _Blocks()
        self._extras = Extras()
        self._finish = ""
        self._usage = Usage()
        self._model = model

    def take(self, data: bytes) -> Iterator[TextDelta | ToolCallDelta]:
        """Read one event and yield what it adds to the answer.

        Raises:
            ModelError: the event is an error that came after the 200.
            DecodeError: the event is not in OpenAI's form.
        """
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

    def response(self) -> ModelResponse:
        """The whole answer.

        Raises:
            TryAgain: the stream broke off.
        """
        if not self._finish:
            raise self._failures.broken_off()
        calls = self._calls.whole()
        refusal = "".join(self._refusals)
        reason = self._stop_reason(refusal, readable=calls is not None)
        self._extras.message |= {name: "".join(pieces) for name, pieces in self._thoughts.items()}
        if blocks := self._blocks.whole():
            self._extras.message["reasoning_details"] = blocks
        extras = self._extras
        if reason not in ("end_turn", "tool_use"):
            extras = Extras(extras.message)
        return build_response(
            [Text("".join(self._texts)), *(calls or ())],
            reason,
            model=self._model,
            usage=self._usage,
            opaque=Opaque(PROVIDER, self._asked, encode(extras)) if extras != Extras() else None,
            detail=f"{self._finish} {refusal}".strip(),
        )

    def _take_delta(self, delta: _Delta) -> Iterator[TextDelta | ToolCallDelta]:
        self._keep_extras(delta)
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
                self._keep_call_extras(taken.index, piece.extra_content)
            yield taken

    def _keep_extras(self, delta: _Delta) -> None:
        """Keep the fields that go back with the message."""
        for name in THOUGHTS:
            if more := getattr(delta, name):
                self._thoughts[name].append(more)
        for piece in delta.reasoning_details or ():
            self._blocks.take(piece)
        if delta.extra_content:
            self._extras.message["extra_content"] = delta.extra_content

    def _keep_call_extras(self, index: int, extra: JSON) -> None:
        while len(self._extras.calls) <= index:
            self._extras.calls.append({})
        self._extras.calls[index]["extra_content"] = extra

    def _stop_reason(self, refusal: str, *, readable: bool) -> StopReason:
        reason = STOP_REASONS.get(self._finish, "other")
        if refusal and not self._texts:
            return "blocked"
        if "malformed" in self._finish.lower() or (
            reason in ("end_turn", "tool_use") and not readable
        ):
            return "malformed"
        return reason

    def _error(self, error: Any) -> Exception:
        fields: JSON = error if isinstance(error, dict) else {"message": str(error)}
        code, kind, message = (
            fields.get("code"),
            fields.get("type"),
            str(fields.get("message") or ""),
        )
        return self._failures.refusal(
            status_of(code, str(kind or "")), kind_of(code, kind, message), message
        )


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
    cached = counts.prompt_tokens_details and counts.prompt_tokens_details.cached_tokens
    thinking = (
        counts.completion_tokens_details and counts.completion_tokens_details.reasoning_tokens
    ) or 0
    output = max(0, (counts.completion_tokens or 0) - thinking)
    return Usage(counts.prompt_tokens or 0, cached or 0, output, thinking)
