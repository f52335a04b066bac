"""A stand-in for the Gemini API on loopback: refuses what the real one refuses, and answers as a
test has told it to.

with gemini_fake() as fake:
    fake.call("get_weather", {"location": "Tokyo"})
    fake.say("It is sunny", " in Tokyo.")
    Gemini("test-key", "gemini-3.5-flash", fake.base_url)
"""

from __future__ import annotations

import base64
import secrets
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import msgspec
from aiohttp import web

from tests.fakes import gemini_files, gemini_rules
from tests.fakes.gemini_answers import SSE, Answer, answer_of, failure, object_of, painted
from tests.fakes.gemini_caches import CachedContents, counted
from tests.fakes.gemini_rules import JSON, Refused
from tests.fakes.serving import serving
from tests.fakes.streams import End, send

KEY = "test-key"
UNREGISTERED = "Method doesn't allow unregistered callers. Please use API Key or other form of API."
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

    def paint(self, picture: bytes, gate: Event | None = None) -> None:
        """A picture, after a draft of it."""
        self.answer(replace(painted(picture), gate=gate))

    def finish(self, reason: str, message: str = "") -> None:
        """No content at all, only the reason why."""
        candidate = {"finishReason": reason, "index": 0} | (
            {"finishMessage": message} if message else {}
        )
        self.answer(Answer(({"candidates": [candidate], "modelVersion": "gemini-3.5-flash"},)))

    def fail(self, status: int, message: str = "refused", **details: str) -> None:
        """An error in Google's form, with what ``failure`` knows of it: a reason, a delay like
        ``48s``, a metric."""
        self.answer(failure(status, message, **details))

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
        """Serve one request to a model."""
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
        self.streaming += 1
        try:
            return await self._send(request, lambda: self._made(arrived))
        finally:
            self.streaming -= 1

    async def respond_cached(self, request: web.Request) -> web.StreamResponse:
        """Serve one request about cached contents."""
        key, raw = request.match_info["key"], await request.read()

        def answer() -> Answer:
            return object_of(self.caches.serve(request.method, key, raw, self.models))

        return await self._send(request, answer, self.caches.gate)

    async def respond_upload(self, request: web.Request) -> web.StreamResponse:
        """Serve one request of an upload; the address of an upload stands for the key."""
        key, headers, raw = request.query.get("upload_id"), request.headers, await request.read()
        try:
            if key is None:
                return await self._send(
                    request, lambda: object_of({}, self.files.start(headers, raw))
                )
            return await self._send(
                request, lambda: object_of(*self.files.proceed(key, headers, raw)), signs_in=False
            )
        except ConnectionError:
            if request.transport is not None:
                request.transport.close()
            return web.Response(status=500)

    async def respond_file(self, request: web.Request) -> web.StreamResponse:
        """Serve one request about a file."""
        key = request.match_info["key"]
        return await self._send(request, lambda: object_of(self.files.serve(request.method, key)))

    def check_key(self, headers: Mapping[str, str]) -> None:
        """Refuse who has not signed in.

        Raises:
            Refused: with the service's text.
        """
        key = headers.get("x-goog-api-key")
        if key is None:
            raise Refused(UNREGISTERED, 403)
        if key != KEY:
            raise Refused(
                "API key not valid. Please pass a valid API key.", reason="API_KEY_INVALID"
            )

    def _made(self, request: GeminiRequest) -> Answer:
        if request.model not in self.models:
            unknown = f"models/{request.model} is not found for API version {request.version}."
            raise Refused(unknown, 404)
        if request.action == "get":
            title = request.model.replace("-", " ").title()
            return self.card or object_of({"name": f"models/{request.model}", "displayName": title})
        gemini_rules.check(request.model, request.raw, self._own_parts)
        cached = self.caches.used(request.model, request.body)
        self.files.check(request.body)
        answer = self._answers.popleft() if self._answers else self.always
        answer = answer if isinstance(answer, Answer) else answer(request.body)
        for one in answer.events:
            for candidate in one.get("candidates", ()):
                self._own_parts += candidate.get("content", {}).get("parts", ())
        return replace(answer, events=counted(answer.events, cached))

    async def _send(
        self,
        request: web.Request,
        made: Callable[[], Answer],
        gate: Event | None = None,
        *,
        signs_in: bool = True,
    ) -> web.StreamResponse:
        """Send what is made, or why it is not."""
        try:
            if signs_in:
                self.check_key(request.headers)
            answer = made()
        except Refused as refused:
            answer = failure(refused.status, str(refused), refused.reason)
        streams = "streamGenerateContent" in request.path
        outgoing = answer.outgoing(streams=streams, sse=request.query.get("alt") == "sse")
        return await send(request, replace(outgoing, gate=gate or answer.gate))


def _no_answer_left(_: JSON) -> Answer:
    return failure(500, "the stand-in has no answer left")


@contextmanager
def gemini_fake() -> Iterator[GeminiFake]:
    """The service on a free port, in a thread of its own."""
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
