"""A stand-in for wttr.in on loopback: gives its answers, refuses what it refuses, and fails in the
ways it fails.

async with wttr_fake() as fake:
    fake.place("東京", temp=21)
    fake.fail("quota")
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote

from anyio.from_thread import start_blocking_portal

from tests.fakes.wttr_bodies import KNOWN, Weather, report

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
NOT_FOUND = "location not found: location not found\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes out; ``way`` is how."""

    status: int = 200
    body: bytes = b""
    content_type: str = JSON
    location: str = ""
    way: Literal["whole", "dripping", "stalled", "closed"] = "whole"


# Texts as the server is known to write them, before and after its rewrite of May 2026.
FAILURES = {
    "unknown_location": Answer(500, NOT_FOUND.encode(), TEXT),
    "data_source_down": Answer(500, b"weather data source not available\n", TEXT),
    "panic": Answer(500, b"Internal Server Error\n", TEXT),
    "quota": Answer(200, b"Unknown location; please try ~35.6828387,139.7594549"),
    "capacity": Answer(
        503, b"Sorry, we processed more than 1M requests today and we ran out.\n", "text/html"
    ),
    "default_city": Answer(
        200, b"Sorry, we are running out of queries to the weather service.\nOymyakon\n", TEXT
    ),
    "rate_limit": Answer(429, b"Not so fast! Number of queries per min is limited to 300", TEXT),
    "redirect": Answer(302, location="/elsewhere?format=j1"),
    "not_json": Answer(200, b"<html>Weather report</html>", "text/html"),
    "empty_body": Answer(200),
    "huge": Answer(200, b" " * (2 * 1024 * 1024)),
    "closed": Answer(way="closed"),
    "stalled": Answer(way="stalled"),
    "dripping": Answer(200, b" " * 1000, way="dripping"),
}

# A first path component the server takes for a language or a view: then it reports its caller's own
# place.
NO_PLACES = {"files", "page", "line", "v1", "v2", "v2d", "v2n", "p1", "j1", "j2", "subprocess"}
BERLIN = Weather("Berlin", "Berlin", "Germany")


@dataclass(frozen=True, slots=True)
class WttrRequest:
    """One request as it came in: ``target`` raw, the others decoded."""

    target: str
    place: str
    lang: str
    headers: dict[str, str]


class WttrFake:
    """The server.

    Attributes:
        base_url: what WTTR_BASE_URL must be.
        requests: all that came in, in order.
    """

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[WttrRequest] = []
        self._places: dict[str, Weather] = {}
        self._failures: list[Answer] = []
        self._lasting: Answer | None = None
        self._conversations: set[asyncio.Task[None]] = set()

    def place(self, name: str, **fields: Any) -> None:
        """Know a place, with fields of ``Weather``; a well-known one gets the service's names,
        another its own."""
        area, region, country = KNOWN.get(name.casefold(), (name, "", ""))
        named = {"area": area, "region": region, "country": country}
        self._places[name.casefold()] = Weather(**(named | fields))

    def fail(self, failure: str, times: int = 0) -> None:
        """Fail so many times, or, after those, for good; ``failure`` is a key of ``FAILURES``."""
        self.replay(FAILURES[failure], times)

    def replay(self, answer: Answer, times: int = 0) -> None:
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
            head = await reader.readuntil(b"\r\n\r\n")
            await _send(writer, self._answer(head))
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

    def _answer(self, head: bytes) -> Answer:
        request_line, *lines = head.decode("ascii", errors="replace").split("\r\n")
        method, target, _ = request_line.split(" ")
        path, _, query = target.partition("?")
        options = dict(parse_qsl(query, keep_blank_values=True))
        place = unquote(path).strip("/").replace("+", " ").removeprefix("~")
        headers = {
            name.lower(): value
            for name, _, value in (line.partition(": ") for line in lines if line)
        }
        self.requests.append(WttrRequest(target, place, options.get("lang", ""), headers))
        if failure := self._failures.pop(0) if self._failures else self._lasting:
            return failure
        if method != "GET" or "�" in target or "/" in place:
            return Answer(400, b"Bad Request\n", TEXT)
        if options.get("format") != "j1" or set(options) - {"format", "lang"}:
            return Answer(500, b"unknown option\n", TEXT)
        weather = (
            BERLIN
            if len(place.encode()) == 2 or place.lower() in NO_PLACES
            else self._places.get(place.casefold())
        )
        if weather is None:
            return FAILURES["unknown_location"]
        return Answer(200, json.dumps(report(weather, options.get("lang", ""))).encode())


@asynccontextmanager
async def wttr_fake() -> AsyncIterator[WttrFake]:
    """A running fake on a free port of loopback."""
    fake = WttrFake()
    server = await asyncio.start_server(fake.converse, "127.0.0.1", 0)
    fake.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield fake
        await fake.hang_up()


@contextmanager
def wttr_fake_in_thread() -> Iterator[WttrFake]:
    """The same for a test that is no coroutine."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(wttr_fake()) as fake,
    ):
        yield fake


async def _send(writer: asyncio.StreamWriter, answer: Answer) -> None:
    if answer.way == "closed":
        return
    if answer.way == "stalled":
        await asyncio.Event().wait()
    lines = [
        f"HTTP/1.1 {answer.status} Fake",
        "Server: tests/fakes/wttr.py",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        "Connection: close",
        *([f"Location: {answer.location}"] if answer.location else []),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    step = 1 if answer.way == "dripping" else len(answer.body) or 1
    for start in range(0, len(answer.body), step):
        writer.write(answer.body[start : start + step])
        await writer.drain()
        if answer.way == "dripping":
            await asyncio.sleep(0.2)
    await writer.drain()
