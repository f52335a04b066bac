"""What the stand-ins for services on the web share: a server on loopback that can fail in every way
a server can.

async with serve_source(EcbFake()) as fake:
    fake.fail("stalled", times=1)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar
from urllib.parse import parse_qsl, unquote

JSON = "application/json; charset=utf-8"
HTML = "text/html; charset=utf-8"
DRIP_S = 0.2  # between two bytes


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """What goes out; ``way`` is how."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    location: str = ""
    way: Literal["whole", "dripping", "stalled", "closed", "cut"] = "whole"


FAILURES = {
    "rate_limit": SourceAnswer(429, b"Too Many Requests", HTML),
    "not_found": SourceAnswer(404, b"<html>Not Found</html>", HTML),
    "forbidden": SourceAnswer(403, b"<html>Forbidden</html>", HTML),
    "error": SourceAnswer(500, b"<html>Internal Server Error at /srv/secret</html>", HTML),
    "bad_gateway": SourceAnswer(502, b"<html>Bad Gateway</html>", HTML),
    "unavailable": SourceAnswer(503, b"<html>Service Unavailable</html>", HTML),
    "gateway_timeout": SourceAnswer(504, b"<html>Gateway Timeout</html>", HTML),
    "redirect": SourceAnswer(302, location="/elsewhere"),
    "page": SourceAnswer(200, b"<html>Maintenance</html>", HTML),
    "empty_body": SourceAnswer(),
    "huge": SourceAnswer(200, b" " * (2 * 1024 * 1024)),
    "closed": SourceAnswer(way="closed"),
    "cut": SourceAnswer(200, b"{" * 1000, way="cut"),
    "stalled": SourceAnswer(way="stalled"),
    "dripping": SourceAnswer(200, b" " * 1000, way="dripping"),
}


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """One request as it came in: ``target`` raw, the others decoded; names of headers in lower
    case."""

    method: str
    target: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]


class SourceFake:
    """A server; a subclass answers in its service's way.

    Attributes:
        base_url: what the service's setting must be.
        requests: all that came in, in order.
        failures: the ways to fail, by name.
    """

    failures: ClassVar[Mapping[str, SourceAnswer]] = FAILURES

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[SourceRequest] = []
        self._failures: list[SourceAnswer] = []
        self._lasting: SourceAnswer | None = None
        self._conversations: set[asyncio.Task[None]] = set()

    def answer(self, request: SourceRequest) -> SourceAnswer:
        """What the service answers when it works."""
        raise NotImplementedError

    def fail(self, failure: str, times: int = 0) -> None:
        """Fail so many times, or, after those, for good; ``failure`` is a key of ``failures``."""
        self.replay(self.failures[failure], times)

    def replay(self, answer: SourceAnswer, times: int = 0) -> None:
        """Give this answer so many times, or, after those, to every request."""
        self._failures += [answer] * times
        self._lasting = None if times else answer

    def recover(self) -> None:
        """Fail no longer."""
        self._failures, self._lasting = [], None

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request and close."""
        task = asyncio.current_task()
        assert task is not None
        self._conversations.add(task)
        try:
            await _send(writer, self._respond(await reader.readuntil(b"\r\n\r\n")))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client went away, as it may
        except asyncio.CancelledError:
            pass  # the fake ends while an answer is stalled
        finally:
            self._conversations.discard(task)
            writer.close()

    async def hang_up(self) -> None:
        """End what still stalls or drips."""
        for task in (tasks := list(self._conversations)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _respond(self, head: bytes) -> SourceAnswer:
        request_line, *lines = head.decode("ascii").split("\r\n")
        method, target, _ = request_line.split(" ")
        path, _, query = target.partition("?")
        headers = {
            name.lower(): value
            for name, _, value in (line.partition(": ") for line in lines if line)
        }
        params = dict(parse_qsl(query, keep_blank_values=True))
        request = SourceRequest(method, target, unquote(path), params, headers)
        self.requests.append(request)
        if failure := self._failures.pop(0) if self._failures else self._lasting:
            return failure
        return (
            self.answer(request)
            if method == "GET"
            else SourceAnswer(405, b"Method Not Allowed", HTML)
        )


FakeT = TypeVar("FakeT", bound=SourceFake)


@asynccontextmanager
async def serve_source(fake: FakeT) -> AsyncIterator[FakeT]:
    """The fake on a free port of loopback."""
    server = await asyncio.start_server(fake.converse, "127.0.0.1", 0)
    fake.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield fake
        await fake.hang_up()


async def _send(writer: asyncio.StreamWriter, answer: SourceAnswer) -> None:
    if answer.way == "closed":
        return
    if answer.way == "stalled":
        await asyncio.Event().wait()
    lines = [
        f"HTTP/1.1 {answer.status} Fake",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body) + (answer.way == 'cut')}",
        "Connection: close",
        *([f"Location: {answer.location}"] if answer.location else []),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    step = 1 if answer.way == "dripping" else len(answer.body) or 1
    for start in range(0, len(answer.body), step):
        writer.write(answer.body[start : start + step])
        await writer.drain()
        if answer.way == "dripping":
            await asyncio.sleep(DRIP_S)
    await writer.drain()
