"""A stand-in for a streaming model: what came in, and what it sends, piece by piece, to a whole, a
broken or no end."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Literal, Self

import msgspec
from aiohttp import web

from tests.fakes.serving import serving

End = Literal["whole", "cut", "stalled"]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One answer.

    Attributes:
        end: ``cut`` drops the connection after the pieces, ``stalled`` keeps it open and silent.
        gate: nothing goes out before it is set.
        after_s: how long the model thinks first, and ``pace_s`` before each piece.
    """

    pieces: tuple[bytes, ...] = ()
    end: End = "whole"
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)
    gate: Event | None = None
    after_s: float = 0.0
    pace_s: float = 0.0


async def send(request: web.Request, outgoing: Outgoing) -> web.StreamResponse:
    """Send it, each piece by itself; one that stalls from the start says nothing at all."""
    await asyncio.sleep(outgoing.after_s)
    # it is set in another thread
    while outgoing.gate and not outgoing.gate.is_set():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    if outgoing.end == "stalled" and not outgoing.pieces:
        await asyncio.Event().wait()
    headers = {"content-type": outgoing.content_type, **outgoing.headers}
    response = web.StreamResponse(status=outgoing.status, headers=headers)
    await response.prepare(request)
    for piece in outgoing.pieces:
        await asyncio.sleep(outgoing.pace_s)
        await response.write(piece)
    if outgoing.end == "stalled":
        await asyncio.Event().wait()
    if outgoing.end == "cut" and request.transport is not None:
        request.transport.close()
    return response


@dataclass(frozen=True, slots=True)
class Arrived:
    """One request as it came in; headers by names in any case."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        """The decoded JSON."""
        return msgspec.json.decode(self.raw)


class ModelFake(ABC):
    """A service: a queue of answers, and the requests so far.

    Attributes:
        base_url: what the vendor's variable must be.
        requests: all that came in, refused ones included, in order.
        streaming: answers that are going out right now.
        connections: where requests for an answer have come from.
    """

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[Arrived] = []
        self.streaming = 0
        self.connections: set[object] = set()
        self._answers: deque[Outgoing] = deque()

    @abstractmethod
    def failure(
        self, status: int, message: str, *, headers: Mapping[str, str] | None = None
    ) -> Outgoing:
        """An error in the vendor's form."""

    @abstractmethod
    def reply(self, request: Arrived) -> Outgoing | None:
        """A refusal, or the answer to another request than one for an answer of a model."""

    def fail(self, status: int, message: str = "refused", **headers: str) -> None:
        """An error in the vendor's form; ``retry_after`` becomes its header."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answer(self.failure(status, message, headers=named))

    def stall(self) -> None:
        """Take the request and never answer."""
        self.answer(Outgoing(end="stalled"))

    def answer(self, answer: Outgoing) -> None:
        """Anything else."""
        self._answers.append(answer)

    def next(self, request: Arrived) -> Outgoing:
        """The next answer of the queue."""
        if not self._answers:
            return self.failure(500, "the stand-in has no answer left")
        return self._answers.popleft()

    async def respond(self, request: web.Request) -> web.StreamResponse:
        """Serve one request."""
        raw = await request.read()
        arrived = Arrived(request.method, request.path, request.headers, raw)
        self.requests.append(arrived)
        self.connections.add(request.transport and request.transport.get_extra_info("peername"))
        answer = self.reply(arrived) or self.next(arrived)
        self.streaming += 1
        try:
            return await send(request, answer)
        finally:
            self.streaming -= 1

    @contextmanager
    def served(self) -> Iterator[Self]:
        """The service on a free port, in a thread of its own."""
        application = web.Application(client_max_size=1 << 24)
        application.router.add_route("*", "/{path:.*}", self.respond)
        with serving(application) as self.base_url:
            yield self


def json_of(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Outgoing:
    """An answer in one piece."""
    body = (msgspec.json.encode(value),)
    return Outgoing(body, "whole", status, "application/json", headers or {})
