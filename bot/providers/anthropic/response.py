"""The response of Anthropic: the events of one stream become neutral events and one neutral
response.

https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from msgspec import Struct

from bot.providers import ModelResponse, StopReason, TextDelta, ToolCallDelta
from bot.providers.anthropic.request import PROVIDER, SERVER_BLOCKS, THOUGHTS
from bot.providers.shared.failures import Failures, status_of
from bot.providers.shared.request import MOST_FOUND, bounded
from bot.providers.shared.response import Calls, build_response, event_decoder
from bot.transcript import (
    Grounding,
    Message,
    Opaque,
    Source,
    Text,
    ToolCall,
    Usage,
    encode,
)
from toolset.web.decoding import decode_json

JSON = dict[str, Any]

STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "blocked",
}
SENT_BACK = (*THOUGHTS, *SERVER_BLOCKS)
SEARCHES, ARGUMENTS = "server_tool_use", "arguments"
GROWING = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class _Thinking(Struct):
    thinking_tokens: int | None = None


class _ServerToolUse(Struct):
    web_search_requests: int | None = None


class _Usage(Struct):
    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None
    output_tokens_details: _Thinking | None = None
    server_tool_use: _ServerToolUse | None = None


class _Message(Struct):
    model: str | None = None
    usage: _Usage | None = None


class _Delta(Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    signature: str = ""
    partial_json: str = ""
    citation: JSON | None = None
    stop_reason: str | None = None
    stop_details: JSON | None = None


class _Error(Struct):
    type: str = ""
    message: str = ""


class _Event(Struct):
    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: JSON | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: _Error | None = None


def _has_calls(event: _Event) -> bool:
    block = event.content_block or {}
    return block.get("type") == "tool_use" or bool(
        event.delta and event.delta.type == "input_json_delta"
    )


_event = event_decoder(_Event, _has_calls)


class Answer:
    """One answer while it is read.

    Args:
        model: the model that was asked, which gets its own thoughts back.

    Attributes:
        refusal: see ``ModelResponse``.
    """

    def __init__(self, model: str, messages: Sequence[Message], failures: Failures) -> None:
        self._asked = model
        self._failures = failures
        self._calls = Calls(messages)
        self._blocks: dict[int, JSON] = {}
        # The pieces are kept by block and field.
        self._pieces: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
        self._stop_reason = ""
        self._explanation = ""
        self._usage: dict[str, Any] = {}
        self._model = model
        self._cited: dict[Source, None] = {}
        self.refusal = ""

    def take(self, data: bytes) -> Iterator[TextDelta | ToolCallDelta]:
        """Read one event and yield what it adds to the answer.

        Raises:
            ModelError: the event is an error that came after the 200.
            DecodeError: the event is not in Anthropic's form.
        """
        event = _event(data)
        if event.error is not None:
            kind = event.error.type
            raise self._failures.refusal(status_of("", kind), kind, event.error.message)
        if event.message is not None:
            self._model = event.message.model or self._model
            self._count(event.message.usage)
        self._count(event.usage)
        if event.content_block is not None:
            yield from self._begin_block(event.index, event.content_block)
        if event.delta is not None:
            yield from self._extend_block(event.index, event.delta)

    def response(self) -> ModelResponse:
        """The whole answer.

        Raises:
            TryAgain: the stream broke off.
        """
        if not self._stop_reason:
            raise self._failures.broken_off()
        self._join_pieces()
        calls = self._calls.whole()
        reason = STOP_REASONS.get(self._stop_reason, "other")
        if calls is None and reason in ("end_turn", "tool_use"):
            reason = "malformed"
        parts = list(self._parts(calls or ()))
        response = build_response(
            parts,
            reason,
            model=self._model,
            usage=self._total(),
            opaque=self._opaque(parts) if calls and reason in ("end_turn", "tool_use") else None,
            detail=f"{self._stop_reason} {self._explanation}".strip(),
        )
        searches = (self._usage.get("server_tool_use") or _ServerToolUse()).web_search_requests or 0
        grounding = bounded(Grounding(tuple(self._cited)))
        return replace(response, grounding=grounding, searches=searches, refusal=self.refusal)

    def _begin_block(self, index: int, block: JSON) -> Iterator[TextDelta | ToolCallDelta]:
        self._blocks[index] = block
        if block.get("type") == "tool_use":
            yield self._calls.take(
                index, block.get("id"), block.get("name"), block.get("input") or None
            )
        elif block.get("type") == "text" and block.get("text"):
            yield TextDelta(block["text"])

    def _extend_block(self, index: int, delta: _Delta) -> Iterator[TextDelta | ToolCallDelta]:
        if delta.citation is not None:
            self._cite(delta.citation)
        elif (
            delta.type == "input_json_delta" and self._blocks.get(index, {}).get("type") == SEARCHES
        ):
            self._pieces[index, ARGUMENTS].append(delta.partial_json)
        elif delta.type == "input_json_delta" and delta.partial_json:
            yield self._calls.take(index, None, None, delta.partial_json)
        elif delta.type in GROWING:
            field = GROWING[delta.type]
            self._blocks.setdefault(index, {"type": "text"})
            self._pieces[index, field].append(getattr(delta, field))
            if delta.type == "text_delta" and delta.text:
                yield TextDelta(delta.text)
        self._stop_reason = delta.stop_reason or self._stop_reason
        self._explanation = (delta.stop_details or {}).get("explanation") or self._explanation

    def _cite(self, citation: JSON) -> None:
        """Note a page that a text rests on."""
        title, url = citation.get("title"), citation.get("url")
        if isinstance(url, str) and len(self._cited) < MOST_FOUND:
            self._cited[Source(title if isinstance(title, str) else "", url)] = None

    def _join_pieces(self) -> None:
        """Append to each field of each block the pieces that came for it."""
        for (index, field), pieces in self._pieces.items():
            if field == ARGUMENTS:
                self._blocks[index]["input"] = _read_input("".join(pieces))
                continue
            self._blocks[index][field] = "".join((self._blocks[index].get(field, ""), *pieces))
        self._pieces.clear()

    def _parts(self, calls: Sequence[ToolCall]) -> Iterator[Text | ToolCall]:
        waiting = iter(calls)
        for block in self._blocks.values():
            if block.get("type") == "text":
                yield Text(block.get("text", ""))
            elif block.get("type") == "tool_use" and (call := next(waiting, None)) is not None:
                yield call

    def _opaque(self, parts: Sequence[Text | ToolCall]) -> Opaque | None:
        """All blocks in their order, if one is a thought or of a search: Anthropic wants these
        unchanged, in place.

        Only answers with calls need it: without a call the turn is over, and Anthropic wants no
        more of its thoughts.
        """
        if not any(block.get("type") in SENT_BACK for block in self._blocks.values()):
            return None
        own = iter(parts)
        blocks: list[JSON] = []
        for block in self._blocks.values():
            if block.get("type") in SENT_BACK:
                blocks.append(block)
            elif block.get("type") in ("text", "tool_use") and (built := _block(next(own))):
                blocks.append(built)
        return Opaque(PROVIDER, self._asked, encode(blocks))

    def _count(self, usage: _Usage | None) -> None:
        """Counts are cumulative: a later event replaces earlier numbers."""
        if usage is not None:
            for name in usage.__struct_fields__:
                if (value := getattr(usage, name)) is not None:
                    self._usage[name] = value

    def _total(self) -> Usage:
        """Anthropic counts tokens that a cache has read or written beside the other input, and
        thoughts as output."""
        cached = self._usage.get("cache_read_input_tokens", 0)
        fresh = self._usage.get("input_tokens", 0) + self._usage.get(
            "cache_creation_input_tokens", 0
        )
        details = self._usage.get("output_tokens_details") or _Thinking()
        thinking = details.thinking_tokens or 0
        return Usage(
            fresh + cached, cached, max(0, self._usage.get("output_tokens", 0) - thinking), thinking
        )


def _read_input(text: str) -> JSON:
    """The arguments of a search; empty where the answer broke off in them."""
    with suppress(ValueError):
        return decode_json(text, JSON)
    return {}


def _block(part: Text | ToolCall) -> JSON | None:
    if isinstance(part, ToolCall):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
    if not part.text.strip():
        return None
    return {"type": "text", "text": part.text}
