"""What an OpenAI-compatible server answers: the events of one stream, read into neutral events and one response.

Nearly every field may be absent, so each has a default, and what is not named here is ignored. A server that does not
stream sends the whole answer as one event, with ``message`` in the place of ``delta``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.json import Decoder

from bot.providers import ModelResponse, StopReason, TextDelta, ToolCallDelta
from bot.providers.answers import answer
from bot.providers.calls import Calls
from bot.providers.failures import Failures, status_of
from bot.providers.openai.failures import kind_of
from bot.providers.openai.request import PROVIDER, Kept
from bot.transcript import Message, Opaque, Text, Usage, encode

JSON = dict[str, Any]
DONE = b"[DONE]"

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


_event = Decoder(_Event).decode
_error = Decoder(JSON).decode


class Answer:
    """One answer in the making.

    Args:
        may_call: calls are dropped otherwise: small servers do not heed the tool choice.
    """

    def __init__(self, model: str, messages: Sequence[Message], failures: Failures, *, may_call: bool) -> None:
        self._asked = model
        self._failures = failures
        self._may_call = may_call
        self._calls = Calls(messages)
        self._texts: list[str] = []
        self._refusal = ""
        self._kept = Kept()
        self._finish = ""
        self._usage = Usage()
        self._model = model

    def take(self, data: bytes) -> Iterator[TextDelta | ToolCallDelta]:
        """Take one event in and tell what is new in it.

        Raises:
            ModelError: it is an error that came after the 200.
            DecodeError: it is not what such a server sends.
        """
        if data == DONE:
            self._finish = self._finish or "stop"
            return
        event = _event(data)
        if event.error or event.object == "error":
            raise self._error(event.error or _error(data))
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
        reason = self._stop_reason(readable=calls is not None)
        kept = self._kept if reason in ("end_turn", "tool_use") else Kept(self._kept.message)
        return answer(
            [Text("".join(self._texts)), *(calls or ())],
            reason,
            model=self._model,
            usage=self._usage,
            opaque=Opaque(PROVIDER, self._asked, encode(kept)) if kept != Kept() else None,
            detail=f"{self._finish} {self._refusal}".strip(),
        )

    def _take_delta(self, delta: _Delta) -> Iterator[TextDelta | ToolCallDelta]:
        self._keep(delta)
        self._refusal += delta.refusal or ""
        if delta.content:
            self._texts.append(delta.content)
            yield TextDelta(delta.content)
        for piece in (delta.tool_calls or ()) if self._may_call else ():
            function = piece.function or _Function()
            taken = self._calls.take(piece.index, piece.id, function.name, function.arguments)
            if piece.extra_content:
                self._keep_call(taken.index, piece.extra_content)
            yield taken

    def _keep(self, delta: _Delta) -> None:
        """Put aside what goes back with the message."""
        message = self._kept.message
        for name in ("reasoning_content", "reasoning"):
            if more := getattr(delta, name):
                message[name] = message.get(name, "") + more
        if delta.reasoning_details:
            message["reasoning_details"] = _continued(message.get("reasoning_details", []), delta.reasoning_details)
        if delta.extra_content:
            message["extra_content"] = delta.extra_content

    def _keep_call(self, index: int, extra: JSON) -> None:
        while len(self._kept.calls) <= index:
            self._kept.calls.append({})
        self._kept.calls[index]["extra_content"] = extra

    def _stop_reason(self, *, readable: bool) -> StopReason:
        reason = STOP_REASONS.get(self._finish, "other")
        if self._refusal and not self._texts:
            return "blocked"
        if "malformed" in self._finish.lower() or (reason in ("end_turn", "tool_use") and not readable):
            return "malformed"
        return reason

    def _error(self, error: Any) -> Exception:
        told: JSON = error if isinstance(error, dict) else {"message": str(error)}
        code, kind, words = told.get("code"), told.get("type"), str(told.get("message") or "")
        return self._failures.refusal(status_of(code, str(kind or "")), kind_of(code, kind, words), words)


def _continued(before: list[JSON], pieces: list[JSON]) -> list[JSON]:
    """OpenRouter's reasoning blocks: pieces of one follow each other and share type and index."""
    whole = list(before)
    for piece in pieces:
        last = whole[-1] if whole else {}
        if last and [last.get(name) for name in ("type", "index")] == [piece.get(name) for name in ("type", "index")]:
            grown = {
                name: last[name] + piece[name]
                for name in ("text", "summary", "data")
                if isinstance(last.get(name), str) and isinstance(piece.get(name), str)
            }
            whole[-1] = {**last, **{name: value for name, value in piece.items() if value is not None}, **grown}
        else:
            whole.append(piece)
    return whole


def _usage(counts: _Usage) -> Usage:
    """OpenAI counts what a model thought as output too."""
    cached = counts.prompt_tokens_details and counts.prompt_tokens_details.cached_tokens
    thinking = (counts.completion_tokens_details and counts.completion_tokens_details.reasoning_tokens) or 0
    output = max(0, (counts.completion_tokens or 0) - thinking)
    return Usage(counts.prompt_tokens or 0, cached or 0, output, thinking)
