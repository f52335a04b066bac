"""The response of Anthropic: the events of one stream become neutral events and one neutral
response.

https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from bot.providers import ModelResponse, StopReason, TextDelta, ToolCallDelta
from bot.providers.anthropic.request import PROVIDER, SERVER_BLOCKS, THOUGHTS
from bot.providers.shared import streaming
from bot.providers.shared.failures import Failures, status_of
from bot.providers.shared.request import MOST_FOUND, bounded
from bot.providers.shared.streaming import event_decoder
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


class Answer(streaming.Answer):
    """One answer while it is read."""

    stop_reasons = STOP_REASONS

    def __init__(self, asked: str, failures: Failures, messages: Sequence[Message]) -> None:
        super().__init__(asked, failures, messages)
        self._blocks: dict[int, JSON] = {}
        # The pieces are kept by block and field.
        self._pieces: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
        self._explanation = ""
        self._counts: dict[str, Any] = {}
        self._cited: dict[Source, None] = {}

    def take(self, data: bytes) -> Iterator[TextDelta | ToolCallDelta]:
        """Read one event and yield what it adds to the answer."""
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
        """The whole answer; raises as everywhere."""
        for (index, field), pieces in self._pieces.items():
            block = self._blocks[index]
            if field == ARGUMENTS:
                block["input"] = _read_input("".join(pieces))
            else:
                block[field] = "".join((block.get(field, ""), *pieces))
        self._count_total()
        self._grounding = bounded(Grounding(tuple(self._cited)))
        return super().response()

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
        self._finish = delta.stop_reason or self._finish
        self._explanation = (delta.stop_details or {}).get("explanation") or self._explanation

    def _cite(self, citation: JSON) -> None:
        """Note a page that a text rests on."""
        title, url = citation.get("title"), citation.get("url")
        if isinstance(url, str) and len(self._cited) < MOST_FOUND:
            self._cited[Source(title if isinstance(title, str) else "", url)] = None

    def _parts(self, calls: Sequence[ToolCall]) -> Iterator[Text | ToolCall]:
        waiting = iter(calls)
        for block in self._blocks.values():
            if block.get("type") == "text":
                yield Text(block.get("text", ""))
            elif block.get("type") == "tool_use" and (call := next(waiting, None)) is not None:
                yield call

    def _opaque(self, parts: Sequence[Text | ToolCall], reason: StopReason) -> Opaque | None:
        """All blocks in their order, if one is a thought or of a search: Anthropic wants these
        unchanged, in place.

        Only answers with calls need it: without a call the turn is over, and Anthropic wants no
        more of its thoughts.
        """
        has_own = any(block.get("type") in SENT_BACK for block in self._blocks.values())
        if reason != "tool_use" or not has_own:
            return None
        own = iter(parts)
        blocks: list[JSON] = []
        for block in self._blocks.values():
            if block.get("type") in SENT_BACK:
                blocks.append(block)
            elif block.get("type") in ("text", "tool_use") and (built := _block(next(own))):
                blocks.append(built)
        return Opaque(PROVIDER, self.asked, encode(blocks))

    def _detail(self) -> str:
        return f"{self._finish} {self._explanation}".strip()

    def _count(self, usage: _Usage | None) -> None:
        """Counts are cumulative: a later event replaces earlier numbers."""
        if usage is not None:
            for name in usage.__struct_fields__:
                if (value := getattr(usage, name)) is not None:
                    self._counts[name] = value

    def _count_total(self) -> None:
        """Anthropic counts tokens that a cache has read or written beside the other input, and
        thoughts as output."""
        counts = _Usage(**self._counts)
        cached = counts.cache_read_input_tokens or 0
        fresh = (counts.input_tokens or 0) + (counts.cache_creation_input_tokens or 0)
        thinking = (counts.output_tokens_details or _Thinking()).thinking_tokens or 0
        output = max(0, (counts.output_tokens or 0) - thinking)
        self._usage = Usage(fresh + cached, cached, output, thinking)
        self._searches = (counts.server_tool_use or _ServerToolUse()).web_search_requests or 0


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
