"""A stand-in for the Messages API on loopback: refuses what the real one refuses, and answers as it
was told.

with anthropic_fake() as fake:
    fake.calls(("get_weather", {"location": "Tokyo"}))
    fake.say("It is sunny", " in Tokyo.")
    Anthropic("test-key", "claude-sonnet-5", fake.base_url)
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from tests.fakes import anthropic_rules
from tests.fakes.anthropic_rules import JSON, MODELS, THOUGHTS, Refused
from tests.fakes.streams import Arrived, End, ModelFake, Outgoing, json_of

KEY = "test-key"
TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
AT_START = {
    "input_tokens": 40,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 40,
    "output_tokens": 1,
}
AT_END = {"output_tokens": 15, "output_tokens_details": {"thinking_tokens": 5}}


class AnthropicFake(ModelFake):
    """The service.

    Attributes:
        thoughts: what it has thought, by model; it takes no others back.
    """

    def __init__(self) -> None:
        super().__init__()
        self.thoughts: dict[str, list[JSON]] = {}

    @property
    def messages(self) -> list[JSON]:
        """The bodies of all requests for an answer."""
        return [request.body for request in self.requests if request.method == "POST"]

    def say(self, *pieces: str, stop: str = "end_turn", end: End = "whole") -> None:
        """One block of text, each piece in an event of its own."""
        events = [START, block_start(0, text("")), *(text_delta(0, piece) for piece in pieces)]
        self.events(*events, *(ending(stop) if end == "whole" else ()), end=end)

    def calls(self, *calls: tuple[str, JSON], words: str = "", thought: JSON | None = None) -> None:
        """Parallel calls, after words and a thought where there are any."""
        spoken = [thought] if thought else []
        spoken += [text(words)] if words else []
        self.blocks(*spoken, *(call(name, arguments) for name, arguments in calls), stop="tool_use")

    def blocks(self, *blocks: JSON, stop: str = "end_turn") -> None:
        """Whole blocks, streamed as Anthropic streams them."""
        self.events(START, *events_of(blocks), *ending(stop))

    def next(self, request: Arrived) -> Outgoing:
        """The next answer; the model that was asked takes its thoughts back."""
        answer = super().next(request)
        written = [one.partition(b"data: ")[2] for one in answer.pieces if b"event: " in one[:7]]
        had = self.thoughts.setdefault(request.body["model"], [])
        had += thoughts_in(list(map(msgspec.json.decode, written)))
        return answer

    def events(self, *events: JSON, end: End = "whole") -> None:
        """Events exactly as given."""
        self.answer(Outgoing(tuple(sse(event) for event in events), end))

    def failure(
        self, status: int, message: str, *, headers: Mapping[str, str] | None = None
    ) -> Outgoing:
        return json_of(error_of(TYPES.get(status, "api_error"), message), status, headers)

    def reply(self, request: Arrived) -> Outgoing | None:
        return self._refusal(request) or self._card(request)

    def _refusal(self, request: Arrived) -> Outgoing | None:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if KEY not in (request.headers.get("x-api-key"), bearer):
            return self.failure(401, "invalid x-api-key")
        if "anthropic-version" not in request.headers:
            return self.failure(400, "anthropic-version: header is required")
        if request.method == "GET":
            return None
        try:
            body = request.body
            if body.get("model") not in MODELS:
                return self.failure(404, f"model: {body.get('model')}")
            anthropic_rules.check(body, self.thoughts)
        except msgspec.DecodeError:
            return self.failure(400, "The request body is not valid JSON")
        except Refused as refused:
            return self.failure(400, str(refused))
        return None

    def _card(self, request: Arrived) -> Outgoing | None:
        if request.method != "GET":
            return None
        model = request.path.removeprefix("/v1/models/")
        if model not in MODELS:
            return self.failure(404, f"model: {model}")
        named = {"type": "model", "id": model, "display_name": model.replace("-", " ").title()}
        card = {**named, "created_at": "2026-01-01T00:00:00Z", "lifecycle": "active"}
        return json_of(card)


START: JSON = {
    "type": "message_start",
    "message": {
        **{
            "id": "msg_01",
            "type": "message",
            "role": "assistant",
            "model": "claude-answering-1",
            "content": [],
        },
        **{"stop_reason": None, "stop_sequence": None, "usage": AT_START},
    },
}


def text(words: str) -> JSON:
    """A block of words."""
    return {"type": "text", "text": words}


def call(name: str, arguments: JSON) -> JSON:
    """A block that calls, with an id like Anthropic's."""
    return {
        "type": "tool_use",
        "id": f"toolu_{secrets.token_hex(12)}",
        "name": name,
        "input": arguments,
    }


def searched(query: str, *pages: JSON) -> list[JSON]:
    """The blocks of a search by Anthropic itself; a page has ``url`` and ``title``."""
    search_id = f"srvtoolu_{secrets.token_hex(12)}"
    found = [
        {"type": "web_search_result", "encrypted_content": "x", "page_age": None, **page}
        for page in pages
    ]
    return [
        {
            "type": "server_tool_use",
            "id": search_id,
            "name": "web_search",
            "input": {"query": query},
        },
        {"type": "web_search_tool_result", "tool_use_id": search_id, "content": found},
    ]


def thought(words: str = "Let me think.") -> JSON:
    """A block of thinking, signed."""
    return {"type": "thinking", "thinking": words, "signature": secrets.token_urlsafe(24)}


def events_of(blocks: Sequence[JSON]) -> Iterator[JSON]:
    """Blocks as the events that stream them."""
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            yield block_start(index, text(""))
            for citation in block.get("citations", ()):
                delta = {"type": "citations_delta", "citation": citation}
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield text_delta(index, block["text"])
        elif block["type"] in ("tool_use", "server_tool_use"):
            yield block_start(index, {**block, "input": {}})
            written = msgspec.json.encode(block["input"]).decode() if block["input"] else ""
            half = len(written) // 2
            yield from (
                arguments_delta(index, piece) for piece in ("", written[:half], written[half:])
            )
        elif block["type"] == "thinking":
            yield block_start(index, {"type": "thinking", "thinking": "", "signature": ""})
            for field in ("thinking", "signature"):
                yield _delta(index, f"{field}_delta", field, block[field])
        else:
            yield block_start(index, block)
        yield {"type": "content_block_stop", "index": index}
        yield {"type": "ping"}


def block_start(index: int, block: JSON) -> JSON:
    """The event that begins a block."""
    return {"type": "content_block_start", "index": index, "content_block": block}


def text_delta(index: int, piece: str) -> JSON:
    """More words of a block."""
    return _delta(index, "text_delta", "text", piece)


def arguments_delta(index: int, piece: str) -> JSON:
    """More JSON of a call's arguments."""
    return _delta(index, "input_json_delta", "partial_json", piece)


def ending(stop: str, usage: JSON | None = None, **details: Any) -> tuple[JSON, JSON]:
    """The events that end an answer."""
    delta = {"stop_reason": stop, "stop_sequence": None, **details}
    return {"type": "message_delta", "delta": delta, "usage": usage or AT_END}, {
        "type": "message_stop"
    }


def thoughts_in(events: Sequence[JSON]) -> list[JSON]:
    """The thoughts an answer holds, whole."""
    blocks: dict[int, JSON] = {}
    for event in events:
        if event["type"] == "content_block_start" and event["content_block"]["type"] in THOUGHTS:
            blocks[event["index"]] = dict(event["content_block"])
        elif event["type"] == "content_block_delta" and event["index"] in blocks:
            field = event["delta"]["type"].removesuffix("_delta")
            blocks[event["index"]][field] += event["delta"][field]
    return list(blocks.values())


def sse(event: JSON) -> bytes:
    """One event of a stream."""
    return f"event: {event['type']}\ndata: ".encode() + msgspec.json.encode(event) + b"\n\n"


def error_of(kind: str, message: str) -> JSON:
    """An error in Anthropic's form, of a response or of an event."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_01"}


def _delta(index: int, kind: str, field: str, piece: str) -> JSON:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: piece}}


def anthropic_fake() -> AbstractContextManager[AnthropicFake]:
    """The service on a free port, in a thread of its own."""
    return AnthropicFake().served()
