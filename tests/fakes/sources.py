"""What the stand-ins for services on the web share: a server on loopback that can fail in every way
a server can.

with EcbFake().served() as fake:
    fake.fail("stalled", times=1)
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from aiohttp import web

from tests.fakes.serving import serving

JSON = "application/json; charset=utf-8"
HTML = "text/html; charset=utf-8"
DRIP_S = 0.1  # between two bytes


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """What goes out; ``way`` is how."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    location: str = ""
    way: Literal["whole", "dripping", "stalled", "closed", "cut"] = "whole"


NOT_FOUND = SourceAnswer(404, b"<html>Not Found</html>", HTML)
ANSWERS = {
    "redirect": SourceAnswer(302, location="/elsewhere"),
    "not_json": SourceAnswer(200, b"<html>Maintenance</html>", HTML),
    "no_object": SourceAnswer(200, b'"text"'),
    "wrong_shape": SourceAnswer(200, b'{"results": 1, "web": {"results": "x"}}'),
    "empty_body": SourceAnswer(),
    "huge": SourceAnswer(200, b" " * (9 * 1024 * 1024)),
    "closed": SourceAnswer(way="closed"),
    "cut": SourceAnswer(200, b"{" * 1000, way="cut"),
    "stalled": SourceAnswer(way="stalled"),
    "dripping": SourceAnswer(200, b" " * 1000, way="dripping"),
}
# Those that each tool meets.
FAILURES = (
    *("status 429", "status 500", "redirect", "stalled", "dripping", "closed"),
    *("huge", "not_json", "no_object", "wrong_shape"),
)


class Failing(ABC):
    """A server; what goes wrong, for so many requests or for good, is nothing by default.

    Attributes:
        base_url: what the service's setting must be.
        answers: the ways to fail, by name.
    """

    answers: ClassVar[Mapping[str, SourceAnswer]] = ANSWERS

    def __init__(self) -> None:
        self.base_url = ""
        self._failures: deque[SourceAnswer] = deque()
        self._lasting: SourceAnswer | None = None
        self._recoveries = 0

    @abstractmethod
    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""

    def fail(self, failure: str, times: int = 0) -> None:
        """Fail so many times, or, after those, for good; ``failure`` is a key of ``answers``, or
        any status."""
        if failure.startswith("status "):
            status = int(failure.removeprefix("status "))
            self.replay(SourceAnswer(status, b'{"error": "sk-secret"}'), times)
        else:
            self.replay(self.answers[failure], times)

    def replay(self, answer: SourceAnswer, times: int = 0) -> None:
        """Give this answer so many times, or, after those, to every request."""
        self._failures.extend([answer] * times)
        self._lasting = None if times else answer

    def recover(self) -> None:
        """Fail no longer, and hang up on who still waits."""
        self._failures.clear()
        self._lasting = None
        self._recoveries += 1

    async def failed(self, request: web.Request) -> web.StreamResponse | None:
        """The failure that is due; None where all is well."""
        failure = self._failures.popleft() if self._failures else self._lasting
        return await self.send(request, failure) if failure else None

    async def send(self, request: web.Request, answer: SourceAnswer) -> web.StreamResponse:
        """Send an answer in its way."""
        recoveries = self._recoveries
        # it recovers in another thread
        while answer.way == "stalled" and recoveries == self._recoveries:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        headers = {"Content-Type": answer.content_type}
        if answer.location:
            headers["Location"] = answer.location
        response = web.StreamResponse(status=answer.status, headers=headers)
        response.content_length = len(answer.body) + (answer.way == "cut")
        if answer.way not in ("stalled", "closed"):
            await response.prepare(request)
            step = 1 if answer.way == "dripping" else len(answer.body) or 1
            for start in range(0, len(answer.body), step):
                await response.write(answer.body[start : start + step])
                await asyncio.sleep(DRIP_S if answer.way == "dripping" else 0)
        if answer.way != "whole" and request.transport is not None:
            request.transport.close()
        return response

    @contextmanager
    def served(self) -> Iterator[Self]:
        """The service on a free port, in a thread of its own."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self.handle)
        with serving(application) as self.base_url:
            yield self


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """One request as it came in: ``target`` raw, the others decoded; names of headers in lower
    case."""

    method: str
    target: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]


class SourceFake(Failing):
    """A server that is only read from.

    Attributes:
        requests: all that came in, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[SourceRequest] = []

    @abstractmethod
    def answer(self, request: SourceRequest) -> SourceAnswer:
        """What the service answers when it works."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        query = dict(request.query)
        asked = SourceRequest(request.method, request.raw_path, request.path, query, headers)
        self.requests.append(asked)
        if failure := await self.failed(request):
            return failure
        refused = SourceAnswer(405, b"Method Not Allowed", HTML)
        return await self.send(request, self.answer(asked) if asked.method == "GET" else refused)
