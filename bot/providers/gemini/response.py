"""What Gemini answers: the events of one stream, read into neutral events and one neutral response.

Nearly every field may be absent, so each has a default, and what is not named here is ignored.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from google.genai.errors import APIError
from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder

from bot.errors import TryAgain
from bot.providers import ModelResponse, StopReason, TextDelta, ToolCallDelta
from bot.providers.shared.response import merge_texts
from bot.transcript import Message, Opaque, Text, ToolCall, Usage, encode, new_id

BLOCKED = {
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MODEL_ARMOR",
    "ESCALATION",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "IMAGE_OTHER",
}
MALFORMED = {"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE"}
COMPLETE = {"STOP", "UNEXPECTED_TOOL_CALL"}  # the latter may hold a whole call of an undeclared name


class _FunctionCall(Struct):
    id: str | None = None
    name: str | None = None
    args: Any = None


class _Part(Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    function_call: _FunctionCall | None = None


class _Content(Struct):
    parts: list[Raw] | None = None


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _PromptFeedback(Struct, rename="camel"):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _UsageMetadata(Struct, rename="camel"):
    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None


class Event(Struct, rename="camel"):
    """One event of a stream."""

    candidates: list[_Candidate] | None = None
    prompt_feedback: _PromptFeedback | None = None
    usage_metadata: _UsageMetadata | None = None
    model_version: str | None = None
    error: dict[str, Any] | None = None


class _Kept(Struct):
    """A part word for word, and what it means to us, if anything."""

    raw: bytes
    part: Text | ToolCall | None


_event = Decoder(Event).decode
_part = Decoder(_Part).decode


def read(data: bytes) -> Event:
    """Read one event.

    Raises:
        APIError: it is an error that came after the 200.
        TryAgain: it is not what Gemini sends.
    """
    try:
        event = _event(data)
    except DecodeError as error:
        raise _unreadable() from error
    if event.error is not None:
        raise APIError(0, {"error": event.error})
    return event


class Answer:
    """One answer in the making.

    Args:
        provider: who was asked.
        model: the model that was asked, which gets its own parts back word for word.
    """

    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._kept: list[_Kept] = []
        self._call_ids: set[str] = set()
        self._finish = ""
        self._message = ""
        self._blocked = ""
        self._usage = Usage()
        self._version = model

    def take(self, event: Event) -> Iterator[TextDelta | ToolCallDelta]:
        """Take one event in and tell what is new in it."""
        for candidate in (event.candidates or ())[:1]:
            self._finish = candidate.finish_reason or self._finish
            self._message = candidate.finish_message or self._message
            for raw in (candidate.content and candidate.content.parts) or ():
                yield from self._take_part(bytes(raw))
        if event.prompt_feedback and event.prompt_feedback.block_reason:
            self._blocked = event.prompt_feedback.block_reason
            self._message = event.prompt_feedback.block_reason_message or ""
        if event.usage_metadata:
            self._usage = _usage(event.usage_metadata)
        self._version = event.model_version or self._version

    def response(self) -> ModelResponse:
        """The whole answer. Only a complete one keeps its calls: those of a cut or blocked one are never run.

        Raises:
            TryAgain: the stream broke off.
        """
        if not (self._finish or self._blocked):
            raise TryAgain("model_down", "Gemini's answer broke off before its end")
        reason = self._stop_reason()
        kept = [one for one in self._kept if reason == "tool_use" or not isinstance(one.part, ToolCall)]
        raw = b"[" + b",".join(one.raw for one in kept) + b"]"
        opaque = Opaque(self._provider, self._model, raw) if kept else None
        words_and_calls = merge_texts(one.part for one in kept if one.part is not None)
        message = Message(new_id("msg"), "model", words_and_calls, time.time_ns() // 1_000_000, opaque=opaque)
        usual = reason in ("end_turn", "tool_use")
        detail = "" if usual else f"{self._blocked or self._finish} {self._message}".strip()
        return ModelResponse(message, reason, self._usage, self._version, detail)

    def _take_part(self, raw: bytes) -> Iterator[TextDelta | ToolCallDelta]:
        try:
            part = _part(raw)
        except DecodeError as error:
            raise _unreadable() from error
        if part.function_call is not None:
            if part.function_call.name:  # a call without a name is nothing that can be answered
                yield self._take_call(raw, part.function_call, part.function_call.name)
        elif part.text and not part.thought:
            self._kept.append(_Kept(raw, Text(part.text)))
            yield TextDelta(part.text)
        else:
            self._kept.append(_Kept(raw, None))

    def _take_call(self, raw: bytes, call: _FunctionCall, name: str) -> ToolCallDelta:
        unique = call.id if call.id and call.id not in self._call_ids else new_id("call")
        index = len(self._call_ids)
        self._call_ids.add(unique)
        arguments = call.args if isinstance(call.args, dict) else {}
        self._kept.append(_Kept(raw, ToolCall(unique, name, arguments)))
        return ToolCallDelta(index, unique, name, encode(arguments).decode())

    def _stop_reason(self) -> StopReason:
        if self._blocked or self._finish in BLOCKED:
            return "blocked"
        if self._finish == "MAX_TOKENS":
            return "max_tokens"
        if self._finish in MALFORMED:
            return "malformed"
        if self._finish not in COMPLETE:
            return "other"
        if any(isinstance(one.part, ToolCall) for one in self._kept):
            return "tool_use"
        said_something = any(isinstance(one.part, Text) and one.part.text.strip() for one in self._kept)
        return "end_turn" if self._finish == "STOP" and said_something else "malformed"


def _usage(counts: _UsageMetadata) -> Usage:
    return Usage(
        input=counts.prompt_token_count or 0,
        cached=counts.cached_content_token_count or 0,
        output=counts.candidates_token_count or 0,
        thinking=counts.thoughts_token_count or 0,
    )


def _unreadable() -> TryAgain:
    return TryAgain("malformed", "Gemini sent an event that cannot be read")
