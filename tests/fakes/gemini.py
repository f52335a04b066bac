"""A stand-in for the Gemini API on loopback: refuses what the real one refuses, and answers as a
test has told it to.

async with gemini_fake() as fake:
    fake.call("get_weather", {"location": "Tokyo"})
    fake.say("It is sunny", " in Tokyo.")
    Gemini("test-key", "gemini-3.5-flash", fake.base_url)
"""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import msgspec
from aiohttp import web

from tests.fakes import gemini_files, gemini_rules
from tests.fakes.gemini_answers import SSE, Answer, End, answer_of, failure, painted, whole
from tests.fakes.gemini_caches import CachedContents, counted
from tests.fakes.gemini_rules import JSON, Refused
from tests.fakes.serving import serving

KEY = "test-key"
MODELS = (
    "gemini-flash-latest",
    "gemini-flash-lite-latest",
    "gemini-pro-latest",
    "gemini-3.5-flash",
    "gemini-3.1-pro-preview",
    "gemini-2.5-flash",
    "gemini-2.5-pro",
    "gemini-2.0-flash",
    "gemini-3.1-flash-image",
)


@dataclass(frozen=True, slots=True)
class GeminiRequest:
    """One request as it came in; ``action`` is ``streamGenerateContent``, ``generateContent`` or
    ``get``."""

    version: str
    model: str
    action: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        """The decoded JSON."""
        return msgspec.json.decode(self.raw)


class GeminiFake:
    """The service: a queue of answers, and the requests so far.

    Attributes:
        base_url: what GOOGLE_GEMINI_BASE_URL must be.
        requests: all that came in, refused ones included, in order.
        models: those it knows.
        streaming: answers that are going out right now.
        connections: where requests for an answer have come from.
        always: makes the answer, from the request's body, wherever the queue is empty.
        caches: its cached contents.
        files: what was uploaded.
        card: answers who looks a model up; None: its card.
    """

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[GeminiRequest] = []
        self.models = set(MODELS)
        self.streaming = 0
        self.connections: set[object] = set()
        self.always: Callable[[JSON], Answer] = _no_answer_left
        self.caches = CachedContents()
        self.files = gemini_files.UploadedFiles()
        self.card: Answer | None = None
        self._answers: deque[Answer | Callable[[JSON], Answer]] = deque()
        self._own_parts: list[JSON] = []

    @property
    def unused(self) -> int:
        """Answers nobody has asked for."""
        return len(self._answers)

    def say(
        self, *pieces: str, finish: str = "STOP", end: End = "whole", gate: Event | None = None
    ) -> None:
        """Text, each piece in an event of its own."""
        self.parts(*([{"text": piece}] for piece in pieces), finish=finish, end=end, gate=gate)

    def call(self, name: str, arguments: JSON | None = None) -> None:
        """One function call."""
        self.calls((name, arguments or {}))

    def calls(
        self, *calls: tuple[str, JSON], text: str = "", ids: bool = True, split: bool = False
    ) -> None:
        """Parallel calls, the first one signed; ``split`` gives each an event of its own, as long
        streams do."""
        parts: list[JSON] = [
            {"functionCall": {"name": name, "args": arguments}} for name, arguments in calls
        ]
        for part in parts if ids else ():
            part["functionCall"]["id"] = secrets.token_hex(4)
        parts[0]["thoughtSignature"] = base64.b64encode(secrets.token_bytes(24)).decode()
        if text:
            parts.insert(0, {"text": text})
        self.parts(*([part] for part in parts) if split else [parts])

    def parts(
        self,
        *events: Sequence[JSON],
        finish: str = "STOP",
        end: End = "whole",
        gate: Event | None = None,
    ) -> None:
        """Parts exactly as given, one list for each event; a finish reason stands in the last event
        unless empty."""
        self.answer(replace(answer_of(*events, finish=finish, end=end), gate=gate))

    def paint(self, picture: bytes, mime: str = "image/png", gate: Event | None = None) -> None:
        """A picture, after a draft of it."""
        self.answer(replace(painted(picture, mime), gate=gate))

    def finish(self, reason: str, message: str = "") -> None:
        """No content at all, only the reason why."""
        candidate = {"finishReason": reason, "index": 0} | (
            {"finishMessage": message} if message else {}
        )
        self.answer(Answer(({"candidates": [candidate], "modelVersion": "gemini-3.5-flash"},)))

    def fail(
        self,
        status: int,
        message: str = "refused",
        *,
        reason: str = "",
        retry_delay: str = "",
        quota: str = "",
    ) -> None:
        """An error in Google's form; ``retry_delay`` like ``48s``, ``quota`` is a metric."""
        self.answer(failure(status, message, reason, retry_delay, quota))

    def raw(self, body: bytes, status: int = 200, content_type: str = SSE) -> None:
        """These bytes."""
        self.answer(Answer(body=body, status=status, content_type=content_type))

    def stall(self) -> None:
        """Take the request and never answer."""
        self.answer(Answer(end="stalled"))

    def answer(self, answer: Answer | Callable[[JSON], Answer]) -> None:
        """Anything else; a function makes its answer from the request's body."""
        self._answers.append(answer)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Serve one request."""
        model, _, action = request.match_info["model"].partition(":")
        arrived = GeminiRequest(
            request.match_info["version"],
            model,
            action or "get",
            dict(request.headers),
            await request.read(),
        )
        self.requests.append(arrived)
        self.connections.add(request.transport and request.transport.get_extra_info("peername"))
        answer = (
            self._unsigned(request.headers) or self._refusal(arrived) or self._model_card(arrived)
        )
        answer = answer or self._next(arrived)
        self.streaming += 1
        try:
            return await self._send(request, answer, arrived.action == "streamGenerateContent")
        finally:
            self.streaming -= 1

    async def respond_cached(self, request: web.Request) -> web.StreamResponse:
        """Serve one request about cached contents."""
        answer = self._unsigned(request.headers) or self._cached(request, await request.read())
        return await self._send(request, replace(answer, gate=self.caches.gate))

    async def respond_upload(self, request: web.Request) -> web.StreamResponse:
        """Serve one request of an upload; the address of an upload stands for the key."""
        key, raw = request.query.get("upload_id"), await request.read()
        if key is None and (unsigned := self._unsigned(request.headers)):
            return await self._send(request, unsigned)
        try:
            if key is None:
                return gemini_files.answer_of(self.files.start(request.headers, raw), {})
            return gemini_files.answer_of(*self.files.proceed(key, request.headers, raw))
        except gemini_files.Refused as refused:
            return await self._send(request, failure(refused.status, str(refused)))
        except ConnectionError:
            if request.transport is not None:
                request.transport.close()
            return web.Response(status=500)

    async def respond_file(self, request: web.Request) -> web.StreamResponse:
        """Serve one request about a file."""
        if unsigned := self._unsigned(request.headers):
            return await self._send(request, unsigned)
        try:
            return gemini_files.answer_of(
                {}, self.files.serve(request.method, request.match_info["key"])
            )
        except gemini_files.Refused as refused:
            return await self._send(request, failure(refused.status, str(refused)))

    def _unsigned(self, headers: Mapping[str, str]) -> Answer | None:
        key = headers.get("x-goog-api-key")
        if key is None:
            return failure(
                403,
                (
                    "Method doesn't allow unregistered callers. Please use API Key or other form "
                    "of "
                    "API."
                ),
            )
        if key != KEY:
            return failure(
                400, "API key not valid. Please pass a valid API key.", "API_KEY_INVALID"
            )
        return None

    def _cached(self, request: web.Request, raw: bytes) -> Answer:
        try:
            content = self.caches.serve(request.method, request.match_info["key"], raw, self.models)
        except Refused as refused:
            return failure(refused.status, str(refused))
        return Answer(body=msgspec.json.encode(content), content_type="application/json")

    def _refusal(self, request: GeminiRequest) -> Answer | None:
        if request.model not in self.models:
            return failure(
                404, f"models/{request.model} is not found for API version {request.version}."
            )
        if request.action == "get":
            return None
        try:
            gemini_rules.check(request.model, request.raw, self._own_parts)
            self.caches.used(request.model, request.body)
            self.files.check(request.body)
        except (Refused, gemini_files.Refused) as refused:
            return failure(refused.status, str(refused))
        return None

    def _model_card(self, request: GeminiRequest) -> Answer | None:
        if request.action != "get":
            return None
        if self.card:
            return self.card
        card = {
            "name": f"models/{request.model}",
            "displayName": request.model.replace("-", " ").title(),
        }
        return Answer(body=msgspec.json.encode(card), content_type="application/json")

    def _next(self, request: GeminiRequest) -> Answer:
        answer = self._answers.popleft() if self._answers else self.always
        answer = answer if isinstance(answer, Answer) else answer(request.body)
        for one in answer.events:
            for candidate in one.get("candidates", ()):
                self._own_parts += candidate.get("content", {}).get("parts", ())
        cached = self.caches.used(request.model, request.body)
        return replace(answer, events=counted(answer.events, cached))

    async def _send(
        self, request: web.Request, answer: Answer, streams: bool = False
    ) -> web.StreamResponse:
        await asyncio.sleep(answer.after_s)
        # it is set in another thread
        while answer.gate and not answer.gate.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        if answer.body is not None:
            return web.Response(
                status=answer.status,
                body=answer.body,
                content_type=answer.content_type,
                headers=answer.headers,
            )
        if answer.end == "stalled" and not answer.events:
            await asyncio.Event().wait()
        if request.query.get("alt") != "sse":
            events = list(answer.events) if streams else whole(answer.events)
            return web.Response(body=msgspec.json.encode(events), content_type="application/json")
        response = web.StreamResponse(headers={"content-type": SSE})
        await response.prepare(request)
        for one in answer.events:
            await asyncio.sleep(answer.pace_s)
            await response.write(b"data: " + msgspec.json.encode(one) + b"\r\n\r\n")
        if answer.end == "stalled":
            await asyncio.Event().wait()
        if answer.end == "cut" and request.transport is not None:
            request.transport.close()
        return response


def _no_answer_left(_: JSON) -> Answer:
    return failure(500, "the stand-in has no answer left")


@contextmanager
def gemini_fake_in_thread() -> Iterator[GeminiFake]:
    """The same for a test that is no coroutine."""
    fake = GeminiFake()
    application = web.Application(client_max_size=1 << 27)
    application.router.add_route("*", "/{version}/models/{model}", fake.respond)
    application.router.add_route(
        "*", "/{version}/cachedContents{slash:/?}{key:.*}", fake.respond_cached
    )
    application.router.add_post("/upload/{version}/files", fake.respond_upload)
    application.router.add_route("*", "/{version}/files/{key}", fake.respond_file)
    with serving(application) as fake.base_url:
        yield fake


@asynccontextmanager
async def gemini_fake() -> AsyncIterator[GeminiFake]:
    """The service on a free port, in a thread of its own."""
    with gemini_fake_in_thread() as fake:
        yield fake
