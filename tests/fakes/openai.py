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
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from weakref import WeakSet

import msgspec
from aiohttp import web

from tests.fakes import openai_rules
from tests.fakes.openai_rules import JSON, Refused
from tests.fakes.serving import serving

KEY = "test-key"
MODELS = ("gpt-5-mini", "gpt-4o-mini", "small-local-model")
SSE = "text/event-stream"
USAGE: JSON = {
    "prompt_tokens": 100,
    "completion_tokens": 15,
    "total_tokens": 115,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 5},
}

End = Literal["whole", "cut", "stalled"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes out: events of a stream or, where ``body`` is set, these very bytes.

    Attributes:
        end: ``cut`` drops the connection after the events, ``stalled`` keeps it open and silent.
        done: whether ``[DONE]`` and the usage follow the events.
        after_s: how long the model thinks first.
    """

    events: tuple[JSON, ...] = ()
    end: End = "whole"
    done: bool = True
    after_s: float = 0.0
    body: bytes | None = None
    status: int = 200
    content_type: str = SSE
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenAIRequest:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        """The decoded JSON."""
        return msgspec.json.decode(self.raw)


class OpenAIFake:
    """The service: a queue of answers, and the requests so far.

    Attributes:
        base_url: what OPENAI_BASE_URL must be.
        requests: all that came in, refused ones included, in order.
        unknown: fields this server refuses, each with the words it does so in.
        extras: whether messages may carry fields of the server's own.
        is_openai: whether its models are as choosy as OpenAI's own about fields.
        lists_only: it knows its list of models and no single one, as llama.cpp does.
        hangs_up: a connection it promised to keep is closed when the next request comes, as
            llama.cpp's are.
        streaming: answers that are going out right now.
        connections: where requests for an answer have come from.
    """

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[OpenAIRequest] = []
        self.models = set(MODELS)
        self.unknown: dict[str, str] = {}
        self.extras = False
        self.is_openai = False
        self.lists_only = False
        self.hangs_up = False
        self.wants_key = True
        self.streaming = 0
        self.connections: set[object] = set()
        self._answers: deque[Answer] = deque()
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
        if finish and end == "whole":
            events.append(chunk({}, finish))
        self.answer(Answer(tuple(events), end, done=end == "whole"))

    def fail(
        self, status: int, message: str = "refused", *, code: str | None = None, **headers: str
    ) -> None:
        """An error in OpenAI's form; ``retry_after`` becomes its header."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answer(failure(status, message, code=code, headers=named))

    def raw(self, body: bytes, status: int = 200, content_type: str = SSE) -> None:
        """These bytes."""
        self.answer(Answer(body=body, status=status, content_type=content_type))

    def stall(self) -> None:
        """Take the request and never answer."""
        self.answer(Answer(end="stalled"))

    def answer(self, answer: Answer) -> None:
        """Anything else."""
        self._answers.append(answer)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Serve one request."""
        if self.hangs_up and self._is_used(request.transport):
            return web.Response()
        arrived = OpenAIRequest(
            request.method, request.path, dict(request.headers), await request.read()
        )
        self.requests.append(arrived)
        self.connections.add(request.transport and request.transport.get_extra_info("peername"))
        answer = self._refusal(arrived) or self._models(arrived)
        answer = answer or (
            self._answers.popleft() if self._answers else failure(500, "no answer is left")
        )
        self.streaming += 1
        try:
            return await self._send(request, answer)
        finally:
            self.streaming -= 1

    def _is_used(self, connection: asyncio.Transport | None) -> bool:
        """Whether a connection has carried a request before; then it is closed now."""
        assert connection is not None
        if connection not in self._used:
            self._used.add(connection)
            return False
        connection.abort()
        return True

    def _refusal(self, request: OpenAIRequest) -> Answer | None:
        if self.wants_key and request.headers.get("Authorization") != f"Bearer {KEY}":
            return failure(401, "Incorrect API key provided: test****key.", code="invalid_api_key")
        if request.method == "GET":
            return None
        if request.path != "/v1/chat/completions":
            return failure(404, f"Invalid URL (POST {request.path})")
        try:
            openai_rules.check(request.body, extras=self.extras)
            if self.is_openai:
                openai_rules.check_model(request.body)
        except msgspec.DecodeError:
            return failure(400, "We could not parse the JSON body of your request.")
        except Refused as refused:
            return failure(400, refused.message, code=refused.code, param=refused.param)
        for name, words in self.unknown.items():
            if f'"{name}"'.encode() in request.raw:
                return failure(400, words, code="unsupported_parameter", param=name)
        return None if request.body["model"] in self.models else _no_model(request.body["model"])

    def _models(self, request: OpenAIRequest) -> Answer | None:
        if request.method != "GET":
            return None
        cards = {
            model: {"id": model, "object": "model", "created": 1, "owned_by": "us"}
            for model in self.models
        }
        if request.path == "/v1/models":
            return _json({"object": "list", "data": [cards[model] for model in sorted(cards)]})
        model = request.path.removeprefix("/v1/models/")
        return _no_model(model) if self.lists_only or model not in cards else _json(cards[model])

    async def _send(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        await asyncio.sleep(answer.after_s)
        if answer.body is not None:
            return web.Response(
                status=answer.status,
                body=answer.body,
                content_type=answer.content_type,
                headers=answer.headers,
            )
        if answer.end == "stalled" and not answer.events:
            await asyncio.Event().wait()
        response = web.StreamResponse(headers={"content-type": SSE})
        await response.prepare(request)
        for one in answer.events:
            await response.write(_event(one))
        if answer.done:
            if (await request.json()).get("stream_options", {}).get("include_usage"):
                await response.write(_event({**chunk({}), "choices": [], "usage": USAGE}))
            await response.write(b"data: [DONE]\n\n")
        if answer.end == "stalled":
            await asyncio.Event().wait()
        if answer.end == "cut" and request.transport is not None:
            request.transport.close()
        return response


def chunk(delta: JSON, finish: str | None = None) -> JSON:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "gpt-5-mini-2025",
        "choices": [choice],
    }


def stream_of(events: Sequence[JSON]) -> bytes:
    """Events as the bytes of a whole stream."""
    return b"".join(map(_event, events)) + b"data: [DONE]\n\n"


def failure(
    status: int,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """An error in OpenAI's form."""
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    body = msgspec.json.encode({"error": error})
    return Answer(body=body, status=status, content_type="application/json", headers=headers or {})


def _no_model(model: str) -> Answer:
    return failure(
        404,
        f"The model `{model}` does not exist or you do not have access to it.",
        code="model_not_found",
    )


def _json(value: JSON) -> Answer:
    return Answer(body=msgspec.json.encode(value), content_type="application/json")


def _event(value: JSON) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


@contextmanager
def openai_fake() -> Iterator[OpenAIFake]:
    """The service on a free port, in a thread of its own."""
    fake = OpenAIFake()
    application = web.Application(client_max_size=1 << 24)
    application.router.add_route("*", "/{path:.*}", fake.respond)
    with serving(application) as fake.base_url:
        yield fake
