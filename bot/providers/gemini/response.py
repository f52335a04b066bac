"""The response of Gemini: the events of one stream become neutral events and one neutral response.

Nearly every field may be absent, so each has a default; fields without a name here are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from msgspec import DecodeError, Raw, Struct, ValidationError, convert
from msgspec.json import Decoder

from bot.providers import StopReason, TextDelta, ToolCallDelta
from bot.providers.gemini.failures import ServiceError
from bot.providers.shared import streaming
from bot.providers.shared.failures import Failures
from bot.providers.shared.request import MOST_FOUND, bounded
from bot.providers.shared.streaming import USUAL, event_decoder
from bot.transcript import Grounding, Opaque, Source, Text, ToolCall, Usage
from toolset.web.json_values import as_object

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
STOP_REASONS: dict[str, StopReason] = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "MALFORMED_FUNCTION_CALL": "malformed",
    "MALFORMED_RESPONSE": "malformed",
}
SEARCH, READ = "GOOGLE_SEARCH_WEB", "URL_RETRIEVAL_STATUS_SUCCESS"

MetadataT = TypeVar("MetadataT", bound=Struct)


class _FunctionCall(Struct):
    id: str | None = None
    name: str | None = None
    args: Any = None


class _ServerCall(Struct, rename="camel"):
    """A call of one of Google's own tools, which is over when it is read."""

    tool_type: str | None = None
    args: Any = None


class _Part(Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    function_call: _FunctionCall | None = None
    tool_call: _ServerCall | None = None
    tool_response: Any = None


class _Content(Struct):
    parts: list[Raw] | None = None


class _Web(Struct):
    title: str | None = None
    uri: str | None = None


class _Chunk(Struct):
    web: _Web | None = None


class _GroundingMetadata(Struct, rename="camel"):
    grounding_chunks: list[_Chunk] | None = None
    web_search_queries: list[str] | None = None


class _UrlMetadata(Struct, rename="camel"):
    retrieved_url: str | None = None
    url_retrieval_status: str | None = None


class _UrlContextMetadata(Struct, rename="camel"):
    url_metadata: list[_UrlMetadata] | None = None


class _Candidate(Struct, rename="camel"):
    content: _Content | None = None
    grounding_metadata: Any = None
    url_context_metadata: Any = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _PromptFeedback(Struct, rename="camel"):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _UsageMetadata(Struct, rename="camel"):
    prompt_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None


class _Event(Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _PromptFeedback | None = None
    usage_metadata: _UsageMetadata | None = None
    model_version: str | None = None
    error: dict[str, Any] | None = None


class _RawPart(Struct):
    """A part word for word, and the neutral part it stands for, if any."""

    raw: bytes
    part: Text | ToolCall | None


_part = Decoder(_Part).decode
_parts = Decoder(list[Any]).decode


def _raw_parts(event: _Event) -> list[Raw]:
    """The parts of the one candidate that was asked for."""
    for candidate in (event.candidates or ())[:1]:
        if candidate.content:
            return list(candidate.content.parts or ())
    return []


_event = event_decoder(
    _Event, lambda event: any(_part(raw).function_call for raw in _raw_parts(event))
)


class Answer(streaming.Answer):
    """One answer while it is read.

    Args:
        provider: whose answer it is.
    """

    stop_reasons = STOP_REASONS

    def __init__(self, provider: str, asked: str, failures: Failures) -> None:
        super().__init__(asked, failures)
        self._provider = provider
        self._collected: list[_RawPart] = []
        self._message = ""
        self._blocked = ""

    def take(self, data: bytes) -> Iterator[TextDelta | ToolCallDelta]:
        """Read one event and yield what it adds to the answer.

        Raises:
            ServiceError: the event is an error that came after the 200.
            DecodeError: the event is not in Gemini's form.
        """
        event = _event(data)
        if event.error is not None:
            raise ServiceError(0, {"error": event.error})
        for candidate in (event.candidates or ())[:1]:
            self._finish = candidate.finish_reason or self._finish
            self._message = candidate.finish_message or self._message
            if candidate.grounding_metadata or candidate.url_context_metadata:
                self._grounding = bounded(self._grounding + _grounding(candidate))
        for raw in _raw_parts(event):
            yield from self._take_part(bytes(raw))
        feedback = event.prompt_feedback
        if feedback and feedback.block_reason:
            self._blocked = self._finish = feedback.block_reason
            self._message = feedback.block_reason_message or ""
        if counts := event.usage_metadata:
            self._usage = Usage(
                (counts.prompt_token_count or 0) + (counts.tool_use_prompt_token_count or 0),
                counts.cached_content_token_count or 0,
                counts.candidates_token_count or 0,
                counts.thoughts_token_count or 0,
            )
        self._model = event.model_version or self._model
        self._searches = len(self._grounding.queries)

    def _take_part(self, raw: bytes) -> Iterator[TextDelta | ToolCallDelta]:
        part = _part(raw)
        call, words = part.function_call, part.text
        if (part.tool_call or part.tool_response) and (call or words):
            # Without Google's tools half of it would go back.
            raise DecodeError("a part is of two kinds")
        if call is not None:
            if not call.name:
                # Without a name there is nothing to run.
                return
            # Gemini writes "" for no arguments.
            arguments = call.args or {}
            if not isinstance(arguments, dict):
                raise DecodeError("arguments are no object")
            delta = self._calls.take(None, call.id, call.name, arguments)
            self._collected.append(_RawPart(raw, ToolCall(delta.id, call.name, arguments)))
            yield delta
        elif words and not part.thought:
            self._collected.append(_RawPart(raw, Text(words)))
            yield TextDelta(words)
        else:
            if part.tool_call is not None:
                found = Grounding(queries=_queries(part.tool_call))
                self._grounding = bounded(self._grounding + found)
            self._collected.append(_RawPart(raw, None))

    def _parts(self, calls: Sequence[ToolCall]) -> list[Text | ToolCall]:
        return [one.part for one in self._collected if one.part is not None]

    def _opaque(self, parts: Sequence[Text | ToolCall], reason: StopReason) -> Opaque | None:
        """The parts word for word, unless a field that is not read here holds what no later request
        could."""
        kept = [
            one.raw
            for one in self._collected
            if reason in USUAL or not isinstance(one.part, ToolCall)
        ]
        raw = b"[" + b",".join(kept) + b"]"
        with suppress(DecodeError):
            if _parts(raw):
                return Opaque(self._provider, self.asked, raw)
        return None

    def _stop_reason(self) -> StopReason:
        if self._blocked or self._finish in BLOCKED:
            return "blocked"
        if self._finish == "UNEXPECTED_TOOL_CALL":
            # The call of a name that was not declared may be whole.
            has_calls = any(isinstance(one.part, ToolCall) for one in self._collected)
            return "tool_use" if has_calls else "malformed"
        return super()._stop_reason()

    def _detail(self) -> str:
        return f"{self._blocked or self._finish} {self._message}".strip()


def _grounding(candidate: _Candidate) -> Grounding:
    """The pages and searches that an event names; the last ones of a stream do."""
    found = _metadata(candidate.grounding_metadata, _GroundingMetadata)
    read = _metadata(candidate.url_context_metadata, _UrlContextMetadata)
    pages = [chunk.web for chunk in found.grounding_chunks or () if chunk.web]
    sources = [Source(page.title or "", page.uri) for page in pages if page.uri]
    for page in read.url_metadata or ():
        if page.retrieved_url and page.url_retrieval_status == READ:
            sources.append(Source("", page.retrieved_url))
    return Grounding(
        tuple(sources[:MOST_FOUND]), tuple((found.web_search_queries or ())[:MOST_FOUND])
    )


def _metadata(found: Any, kind: type[MetadataT]) -> MetadataT:
    """Metadata in their form; empty in any other, as no answer shall be lost for them."""
    with suppress(ValidationError):
        return convert(found or {}, kind)
    return kind()


def _queries(call: _ServerCall) -> tuple[str, ...]:
    """The queries of a search: an answer that goes on with our tools has no metadata."""
    named = as_object(call.args).get("queries")
    if call.tool_type != SEARCH or not isinstance(named, list):
        return ()
    return tuple(query for query in named[:MOST_FOUND] if isinstance(query, str))
