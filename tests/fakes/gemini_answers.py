"""What the stand-in for Gemini answers: the events of a stream, or an error in Google's form."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from msgspec.json import encode

from tests.fakes.gemini_rules import JSON
from tests.fakes.streams import End, Outgoing

SSE = "text/event-stream"
STATUS = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
}
RPC = "type.googleapis.com/google.rpc"


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes out: events of a stream or, where ``body`` is set, these very bytes.

    Attributes:
        end: ``cut`` drops the connection after the events, ``stalled`` keeps it open and silent.
        gate: nothing goes out before it is set.
        after_s: how long the model thinks first, and ``pace_s`` before each event.
    """

    events: tuple[JSON, ...] = ()
    end: End = "whole"
    gate: Event | None = None
    after_s: float = 0.0
    pace_s: float = 0.0
    body: bytes | None = None
    status: int = 200
    content_type: str = SSE
    headers: Mapping[str, str] = field(default_factory=dict)

    def outgoing(self, *, streams: bool, sse: bool) -> Outgoing:
        """How it goes out: events, the list of them, or the one object of which they are parts."""
        content_type = self.content_type
        if self.body is not None:
            pieces = [self.body]
        elif sse or not self.events:
            pieces = [b"data: " + encode(one) + b"\r\n\r\n" for one in self.events]
        else:
            pieces = [encode(self.events if streams else whole(self.events))]
            content_type = "application/json"
        return Outgoing(
            tuple(filter(None, pieces)),
            self.end,
            self.status,
            content_type,
            self.headers,
            self.gate,
            self.after_s,
            self.pace_s,
        )


def event(parts: Sequence[JSON]) -> JSON:
    """One event of a stream."""
    usage = {
        "promptTokenCount": 100,
        "cachedContentTokenCount": 40,
        "candidatesTokenCount": 10,
        "thoughtsTokenCount": 5,
        "totalTokenCount": 115,
    }
    return {
        "candidates": [{"content": {"parts": list(parts), "role": "model"}, "index": 0}],
        "usageMetadata": usage,
        "modelVersion": "gemini-3.5-flash",
    }


def answer_of(*events: Sequence[JSON], finish: str = "STOP", end: End = "whole") -> Answer:
    """Parts exactly as given, one list for each event; a finish reason stands in the last event
    unless empty."""
    made = [event(parts) for parts in events]
    if finish and end == "whole":
        made[-1]["candidates"][0]["finishReason"] = finish
    return Answer(tuple(made), end)


def said(text: str) -> Answer:
    """Words."""
    return answer_of([{"text": text}])


def called(name: str, **arguments: Any) -> Answer:
    """A call of a function."""
    call = {"name": name, "args": arguments, "id": secrets.token_hex(4)}
    return answer_of([{"functionCall": call} | signed()])


def painted(picture: bytes) -> Answer:
    """A picture, after a draft of it: https://ai.google.dev/gemini-api/docs/image-generation."""
    draft, made = (
        {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(data).decode()}}
        for data in (b"a draft", picture)
    )
    answer = answer_of([draft | {"thought": True}, made | signed()])
    answer.events[0]["modelVersion"] = "gemini-3.1-flash-image"
    answer.events[0]["usageMetadata"] = {
        "promptTokenCount": 12,
        "candidatesTokenCount": 1_120,
        "thoughtsTokenCount": 80,
        "totalTokenCount": 1_212,
        "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 1_120}],
    }
    return answer


def signed() -> JSON:
    """A signature, as a field of a part."""
    return {"thoughtSignature": base64.b64encode(secrets.token_bytes(24)).decode()}


def searched(query: str) -> list[JSON]:
    """The parts of a search by the service itself:
    https://ai.google.dev/gemini-api/docs/tool-combination."""
    call = {"id": secrets.token_hex(4), "toolType": "GOOGLE_SEARCH_WEB"}
    return [
        {"toolCall": {**call, "args": {"queries": [query]}}} | signed(),
        {"toolResponse": {**call, "response": {"search_suggestions": "<div>…</div>"}}} | signed(),
    ]


def grounded(query: str, pages: Sequence[JSON], text: str) -> Answer:
    """A search, then text with what it rests on:
    https://ai.google.dev/gemini-api/docs/google-search."""
    answer = answer_of(searched(query), [{"text": text}])
    answer.events[-1]["candidates"][0]["groundingMetadata"] = {
        "webSearchQueries": [query],
        "groundingChunks": [{"web": page} for page in pages],
        "groundingSupports": [{"segment": {"endIndex": len(text.encode()), "text": text}}],
        "searchEntryPoint": {"renderedContent": "<div>…</div>"},
    }
    return answer


def whole(events: Sequence[JSON]) -> JSON:
    """The events of a stream as the one object ``generateContent`` answers."""
    parts = [
        part for one in events for part in one["candidates"][0].get("content", {}).get("parts", ())
    ]
    last = events[-1]
    return {
        **last,
        "candidates": [{**last["candidates"][0], "content": {"parts": parts, "role": "model"}}],
    }


HELP = {
    "description": "Learn more about Gemini API quotas",
    "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
}


def failure(
    status: int, message: str, reason: str = "", retry_delay: str = "", quota: str = ""
) -> Answer:
    """An error in Google's form; a 429 always links to the help."""
    details: list[JSON] = []
    if status == 429:
        details.append({"@type": f"{RPC}.Help", "links": [HELP]})
    if reason:
        details.append({"@type": f"{RPC}.ErrorInfo", "reason": reason, "domain": "googleapis.com"})
    if quota:
        violation = {"quotaMetric": quota, "quotaId": "PerModelPerMinute", "quotaValue": "1000000"}
        details.append({"@type": f"{RPC}.QuotaFailure", "violations": [violation]})
    if retry_delay:
        details.append({"@type": f"{RPC}.RetryInfo", "retryDelay": retry_delay})
    error: JSON = {"code": status, "message": message, "status": STATUS.get(status, "UNAVAILABLE")}
    if details:
        error["details"] = details
    return object_of({"error": error}, status=status)


def object_of(value: JSON, headers: Mapping[str, str] | None = None, status: int = 200) -> Answer:
    """One object, with headers of its own."""
    return Answer(
        body=encode(value),
        status=status,
        content_type="application/json",
        headers=headers or {},
    )
