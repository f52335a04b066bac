"""What a stranger sends before it is a request, and does not read afterwards, costs little and ends
soon."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from structlog.testing import capture_logs

from bot.http import read_body
from bot.web.connections import Bounds, Connections, bounds_here
from bot.web.port import listen
from bot.web.server import serving

KIB = 1024
PATIENT = Bounds(head_bytes=KIB, client_s=60)
HURRIED = replace(PATIENT, client_s=0.2, look_s=0.02)
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"
LARGE = b"x" * 192 * KIB
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


class Visit:
    """A stranger's connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        """Send; that the other end has gone is seen when reading."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError:
            return

    async def status(self) -> int:
        """The status of the next answer, which is read to its end; 0 where the connection ends
        without one."""
        try:
            head = await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), 20)
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await self._reader.readexactly(int(length or 0))
        except (asyncio.IncompleteReadError, ConnectionError):
            return 0
        return int(head.split()[1])

    async def is_closed(self) -> bool:
        """Wait for the end; True where nothing came before it."""
        try:
            return await asyncio.wait_for(self._reader.read(), 20) == b""
        except ConnectionError:
            return True

    async def leave(self) -> None:
        """Break off."""
        self._writer.transport.abort()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


class Server:
    """A server whose app reads a body and answers with its length, at ``/busy`` as soon as it
    ``is_free``; ``/endless`` sends without end, until it ``gave_up``."""

    def __init__(self, port: int, gave_up: asyncio.Event, is_free: asyncio.Event) -> None:
        self.gave_up = gave_up
        self.is_free = is_free
        self._port = port
        self._visits: list[Visit] = []

    async def visit(self, *data: bytes) -> Visit:
        """Connect and send."""
        visit = Visit(*await asyncio.open_connection("127.0.0.1", self._port))
        self._visits.append(visit)
        for piece in data:
            await visit.send(piece)
        return visit

    async def leave(self) -> None:
        """Break off every connection."""
        for visit in self._visits:
            await visit.leave()


async def body_length(request: Request) -> Response:
    body = await read_body(request, 64 * KIB)
    return Response(status_code=413) if body is None else PlainTextResponse(f"{len(body)} bytes")


@asynccontextmanager
async def server(bounds: Bounds) -> AsyncIterator[Server]:
    gave_up, is_free = asyncio.Event(), asyncio.Event()

    async def busy(request: Request) -> Response:
        await is_free.wait()
        return PlainTextResponse(str(len(await request.body())))

    async def words() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 64 * KIB
                await asyncio.sleep(0)  # for where sending does not wait
        finally:
            gave_up.set()

    async def endless(_request: Request) -> Response:
        return StreamingResponse(words())

    app = Starlette(
        routes=[
            Route("/", body_length, methods=["GET", "POST"]),
            Route("/busy", busy, methods=["GET", "POST"]),
            Route("/endless", endless),
        ]
    )
    with listen("127.0.0.1", 0) as sock:
        async with serving(app, sock, bounds):
            server = Server(sock.getsockname()[1], gave_up, is_free)
            try:
                yield server
            finally:
                await server.leave()


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 2 * KIB,
        b"GET /" + b"x" * 2 * KIB,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * KIB,
        b"G" * 2 * KIB,
        b"\r\n" * KIB,
        GET[:-2] + b"X: " + b"x" * 2 * KIB + b"\r\n\r\n",
        GET[:-2] + b"X: y\r\n" * KIB + b"\r\n",
    ],
    ids=[
        "header",
        "address",
        "headers",
        "method",
        "nothing",
        "a whole head",
        "a whole head of many",
    ],
)
async def test_a_head_over_its_limit_is_refused(head: bytes) -> None:
    """431 or 400 and the end, whatever grows in it and whether it ever ends."""
    async with server(PATIENT) as here:
        visit = await here.visit(head)
        assert await visit.status() in (431, 400 if head.startswith(b"GG") else 431)
        whole = await here.visit(GET)
        assert await whole.status() == 200


async def test_a_head_that_comes_in_pieces_is_counted_as_one() -> None:
    """A kibibyte is a kibibyte, however it is cut; below it, a head is taken."""
    async with server(PATIENT) as here:
        visit = await here.visit(
            b"GET / HTTP/1.1\r\n", *[b"X: " + b"y" * 100 + b"\r\n"] * 5, b"\r\n"
        )
        assert await visit.status() == 200
        over = await here.visit(b"GET / HTTP/1.1\r\n", *[b"X: " + b"y" * 100 + b"\r\n"] * 20)
        assert await over.status() == 431


async def test_a_client_that_is_still_sending_sees_why() -> None:
    """What comes after the answer is read and thrown away, for a while."""
    async with server(PATIENT) as here:
        visit = await here.visit(b"GET / HTTP/1.1\r\nX: ", *[b"x" * 64 * KIB] * 64)
        assert await visit.status() == 431


async def test_every_request_of_a_connection_has_a_head_of_its_own() -> None:
    """Many small heads are not one large head, on a kept-alive connection or pipelined."""
    async with server(PATIENT) as here:
        visit = await here.visit()
        for _ in range(60):
            await visit.send(GET)
            assert await visit.status() == 200
        await visit.send(GET * 60)
        assert [await visit.status() for _ in range(60)] == [200] * 60
        await visit.send(GET * 3 + b"GET / HTTP/1.1\r\nX: " + b"x" * 2 * KIB)
        assert [await visit.status() for _ in range(3)] == [200] * 3


async def test_a_body_larger_than_a_head_may_be_is_taken() -> None:
    """The limit is the head's; trailers count for it, for they are headers."""
    async with server(PATIENT) as here:
        body = b"x" * 32 * KIB
        visit = await here.visit(POST.replace(b"5", b"%d" % len(body)), body)
        assert await visit.status() == 200
        visit = await here.visit(CHUNKED, *[b"1\r\nx\r\n"] * 2 * KIB, b"0\r\n\r\n")
        assert await visit.status() == 200
        trailing = await here.visit(CHUNKED, b"1\r\nx\r\n0\r\n", *[b"X: y\r\n" * 10 * KIB] * 10)
        assert await trailing.is_closed()
        extended = await here.visit(CHUNKED, b"1;", *[b"x" * 64 * KIB] * 10)
        assert await extended.is_closed()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        GET[:-2],
        b"\r\n",
        POST,
        POST + b"{}",
        CHUNKED + b"1\r\nx\r\n",
        CHUNKED + b"1\r\nx\r\n0\r\nX: y\r\n",
        GET[:-2] + b"Upgrade: websocket\r\nConnection: Upgrade\r\n",
    ],
    ids=[
        "nothing",
        "half a head",
        "a line",
        "no body",
        "half a body",
        "a chunk",
        "half a trailer",
        "half an upgrade",
    ],
)
async def test_half_a_request_is_waited_for_so_long(sent: bytes) -> None:
    """Whichever half: its time comes, and the connection is closed."""
    async with server(HURRIED) as here:
        assert await (await here.visit(sent)).is_closed()


@pytest.mark.parametrize(
    ("beginning", "drop"),
    [
        (GET[:-2], b"X: y\r\n"),
        (POST.replace(b"5", b"60000"), b"x"),
        (CHUNKED, b"1\r\nx\r\n"),
    ],
    ids=["head", "body", "chunks"],
)
async def test_dripping_does_not_help(beginning: bytes, drop: bytes) -> None:
    """The time is for the whole, not since the last byte."""
    async with server(HURRIED) as here:
        visit = await here.visit(beginning)

        async def drip() -> None:
            while True:
                await visit.send(drop)
                await asyncio.sleep(0.02)  # slower than the limit of bytes

        dripping = asyncio.create_task(drip())
        assert await visit.is_closed()
        dripping.cancel()


async def test_a_second_request_is_watched_like_the_first() -> None:
    """Kept alive, and also where the first was refused before its body had come."""
    async with server(HURRIED) as here:
        visit = await here.visit(GET)
        assert await visit.status() == 200
        await visit.send(GET[:-2])
        assert await visit.is_closed()
        large = await here.visit(POST.replace(b"5", b"99999999"))
        assert await large.status() == 413
        assert await large.is_closed()


async def test_an_answer_that_nobody_reads_is_given_up() -> None:
    """What stands in our buffers is ours to keep, but not for ever."""
    async with server(HURRIED) as here:
        await here.visit(GET.replace(b"/ ", b"/endless "))
        await asyncio.wait_for(here.gave_up.wait(), 20)


@pytest.mark.parametrize(
    "request_", [GET, POST.replace(b"5", b"%d" % len(LARGE)) + LARGE], ids=["no body", "large"]
)
async def test_a_client_is_not_late_while_the_server_works(request_: bytes) -> None:
    """It is waited for until it is ready to read the request, and to answer."""
    async with server(HURRIED) as here:
        visit = await here.visit(request_.replace(b"/ ", b"/busy "))
        await asyncio.sleep(2 * HURRIED.client_s)
        here.is_free.set()
        assert await visit.status() == 200


async def test_of_too_many_the_one_that_waits_longest_is_closed() -> None:
    """Half a request is closed for a whole one, and the log says so once."""
    with capture_logs() as logged:
        async with server(replace(PATIENT, connections=10)) as here:
            halves = [await here.visit(half) for half in (GET[:-2], POST) * 10]
            assert await (await here.visit(GET)).status() == 200
            assert await halves[0].is_closed()
            for visit in halves[-8::2]:
                await visit.send(b"\r\n")
                assert await visit.status() == 200
    assert [(line["event"], line["limit"]) for line in logged] == [("connections.at_limit", 10)]


async def test_half_requests_share_so_many_bytes() -> None:
    """The largest is given up; the others are not touched."""
    with capture_logs() as logged:
        async with server(replace(PATIENT, held_bytes=40 * KIB)) as here:
            head = POST.replace(b"5", b"60000")
            small, large = (
                await here.visit(head, b"x" * KIB),
                await here.visit(head, b"x" * 32 * KIB),
            )
            other = await here.visit(head, b"x" * 16 * KIB)
            assert await large.is_closed()
            for visit, sent in ((small, KIB), (other, 16 * KIB)):
                await visit.send(b"x" * (60_000 - sent))
                assert await visit.status() == 200
    assert [line["event"] for line in logged] == ["requests.at_limit"]


def test_the_log_has_one_line_a_minute() -> None:
    """However many connections come; a minute later, whoever watches learns that it goes on."""
    clock = [0.0]
    connections = Connections(Bounds(connections=0), lambda: clock[0])
    logged = []
    for second in (0, 0, 59, 60, 61):
        clock[0] = second
        logged.append(connections._may_log("connections"))
    assert logged == [True, False, False, True, False]


@pytest.mark.parametrize(
    ("limits", "connections"),
    [((120, 120), 60), ((1024, 1024), 512), ((20_000, 20_000), 4096), ((100, 300), 150)],
)
def test_connections_leave_descriptors_for_the_rest(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], connections: int
) -> None:
    """The soft limit is raised to the hard one, and where few are, half of them stay for the
    rest."""
    now = [limits]
    monkeypatch.setattr(resource, "getrlimit", lambda _which: now[0])
    monkeypatch.setattr(resource, "setrlimit", lambda _which, wanted: now.__setitem__(0, wanted))
    assert bounds_here().connections == connections
    assert now == [(limits[1], limits[1])]


def test_an_unlimited_process_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the system will not raise what it says is unlimited."""

    def refuse(_which: int, _wanted: tuple[int, int]) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _which: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert bounds_here().connections == 128
    monkeypatch.setattr(
        resource, "getrlimit", lambda _which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )
    assert bounds_here().connections == 4096
