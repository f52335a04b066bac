"""A stand-in for the chat completions API on loopback: OpenAI's own, or a compatible server with
habits of its own.

with openai_fake() as fake:
    fake.calls(("get_weather", {"location": "Tokyo"}))
    fake.say("It is sunny", " in Tokyo.")
    OpenAI("test-key", "gpt-5-mini", fake.base_url)
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import AbstractContextManager
from weakref import WeakSet

import msgspec
from aiohttp import web

from tests.fakes import openai_rules
from tests.fakes.openai_rules import JSON, Refused
from tests.fakes.streams import Arrived, End, ModelFake, Outgoing, json_of

KEY = "test-key"
MODELS = ("gpt-5-mini", "gpt-4o-mini", "small-local-model")
SSE = "text/event-stream"
DONE = "[DONE]"
USAGE: JSON = {
    "prompt_tokens": 100,
    "completion_tokens": 15,
    "total_tokens": 115,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 5},
}


class OpenAIFake(ModelFake):
    """The service.

    Attributes:
        unknown: fields this server refuses, each with the words it does so in.
        extras: whether messages may carry fields of the server's own.
        is_openai: whether its models are as choosy as OpenAI's own about fields.
        lists_only: it knows its list of models and no single one, as llama.cpp does.
        hangs_up: a connection it promised to keep is closed when the next request comes, as
            llama.cpp's are.
    """

    def __init__(self) -> None:
        super().__init__()
        self.models = set(MODELS)
        self.unknown: dict[str, str] = {}
        self.extras = False
        self.is_openai = False
        self.lists_only = False
        self.hangs_up = False
        self.wants_key = True
        self._used: WeakSet[asyncio.Transport] = WeakSet()

    @property
    def chats(self) -> list[JSON]:
        """The bodies of all requests for an answer."""
        return [request.body for request in self.requests if request.method == "POST"]

    def say(self, *pieces: str, finish: str | None = "stop", end: End = "whole") -> None:
        """Text, each piece in an event of its own."""
        deltas: list[JSON] = [{"role": "assistant", "content": "", "refusal": None}]
        self.deltas(*deltas, *({"content": piece} for piece in pieces), finish=finish, end=end)

    def calls(self, *calls: tuple[str, JSON], text: str = "") -> None:
        """Parallel calls as OpenAI streams them: begun with id and name, then their arguments piece
        by piece."""
        deltas: list[JSON] = [{"role": "assistant", "content": text or None}]
        for index, (name, arguments) in enumerate(calls):
            function = {"name": name, "arguments": ""}
            call = {
                "index": index,
                "id": f"call_{secrets.token_hex(12)}",
                "type": "function",
                "function": function,
            }
            deltas.append({"tool_calls": [call]})
            written = msgspec.json.encode(arguments).decode()
            for piece in (written[: len(written) // 2], written[len(written) // 2 :]):
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        self.deltas(*deltas, finish="tool_calls")

    def deltas(self, *deltas: JSON, finish: str | None = "stop", end: End = "whole") -> None:
        """Deltas exactly as given, one event for each."""
        events = [chunk(delta) for delta in deltas]
        if end != "whole":
            self.events(*events, end=end)
            return
        if finish:
            events.append(chunk({}, finish))
        self.events(*events, {**chunk({}), "choices": [], "usage": USAGE}, DONE)

    def events(self, *events: JSON | str, end: End = "whole") -> None:
        """Events exactly as given."""
        self.answer(Outgoing(tuple(map(event_of, events)), end))

    def raw(self, body: bytes, status: int = 200, content_type: str = SSE) -> None:
        """These bytes."""
        self.answer(Outgoing((body,), "whole", status, content_type))

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Serve one request."""
        if self.hangs_up and self._is_used(request.transport):
            return web.Response()
        return await super().respond(request)

    def failure(
        self,
        status: int,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        code: str | None = None,
        param: str | None = None,
    ) -> Outgoing:
        error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
        return json_of({"error": error}, status, headers)

    def reply(self, request: Arrived) -> Outgoing | None:
        return self._refusal(request) or self._models(request)

    def _is_used(self, connection: asyncio.Transport | None) -> bool:
        """Whether a connection has carried a request before; then it is closed now."""
        assert connection is not None
        if connection not in self._used:
            self._used.add(connection)
            return False
        connection.abort()
        return True

    def _refusal(self, request: Arrived) -> Outgoing | None:
        if self.wants_key and request.headers.get("Authorization") != f"Bearer {KEY}":
            return self.failure(
                401, "Incorrect API key provided: test****key.", code="invalid_api_key"
            )
        if request.method == "GET":
            return None
        if request.path != "/v1/chat/completions":
            return self.failure(404, f"Invalid URL (POST {request.path})")
        try:
            openai_rules.check(request.body, extras=self.extras)
            if self.is_openai:
                openai_rules.check_model(request.body)
        except msgspec.DecodeError:
            return self.failure(400, "We could not parse the JSON body of your request.")
        except Refused as refused:
            return self.failure(400, refused.message, code=refused.code, param=refused.param)
        for name, words in self.unknown.items():
            if f'"{name}"'.encode() in request.raw:
                return self.failure(400, words, code="unsupported_parameter", param=name)
        return (
            None if request.body["model"] in self.models else self._no_model(request.body["model"])
        )

    def _models(self, request: Arrived) -> Outgoing | None:
        if request.method != "GET":
            return None
        cards = {
            model: {"id": model, "object": "model", "created": 1, "owned_by": "us"}
            for model in self.models
        }
        if request.path == "/v1/models":
            return json_of({"object": "list", "data": [cards[model] for model in sorted(cards)]})
        model = request.path.removeprefix("/v1/models/")
        return (
            self._no_model(model)
            if self.lists_only or model not in cards
            else json_of(cards[model])
        )

    def _no_model(self, model: str) -> Outgoing:
        message = f"The model `{model}` does not exist or you do not have access to it."
        return self.failure(404, message, code="model_not_found")


def chunk(delta: JSON, finish: str | None = None) -> JSON:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "gpt-5-mini-2025",
        "choices": [choice],
    }


def event_of(event: JSON | str) -> bytes:
    """One event of a stream."""
    text = event if isinstance(event, str) else msgspec.json.encode(event).decode()
    return f"data: {text}\n\n".encode()


def openai_fake() -> AbstractContextManager[OpenAIFake]:
    """The service on a free port, in a thread of its own."""
    return OpenAIFake().served()
