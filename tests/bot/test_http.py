"""Bodies are read up to their limit, whether their length is announced or not."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
from aiohttp import web
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from bot.http import open_sdk_session, read_body
from tests.fakes.serving import serving
from toolset.web.decoding import MOST_BYTES

LIMIT = 10


async def measuring(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that says how long the body was, or that it was too long."""
    body = await read_body(Request(scope, receive), LIMIT)
    response: Response = PlainTextResponse("too long" if body is None else f"{len(body)} bytes")
    await response(scope, receive, send)


async def in_pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


@pytest.mark.parametrize(
    ("body", "spoken"),
    [
        (b"", "0 bytes"),
        (b"x" * LIMIT, "10 bytes"),
        (b"x" * (LIMIT + 1), "too long"),
        (in_pieces(b"x" * 5, b"x" * 5), "10 bytes"),
        (in_pieces(b"x" * 5, b"x" * 6), "too long"),
    ],
    ids=["empty", "at the limit", "beyond it", "in pieces", "in pieces beyond it"],
)
async def test_a_body_is_read_up_to_the_limit(
    body: bytes | AsyncIterator[bytes], spoken: str
) -> None:
    """The limit holds for announced lengths and for bodies that come in pieces."""
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(measuring), base_url="http://here"
    ) as client:
        assert (await client.post("/", content=body)).text == spoken


async def test_an_announced_length_is_believed_before_anything_is_read() -> None:
    """Nobody waits for a body that is too long already by its header."""

    async def nothing_comes() -> dict[str, object]:
        raise AssertionError("the body was read")

    scope = {"type": "http", "method": "POST", "headers": [(b"content-length", b"11")]}
    assert await read_body(Request(scope, nothing_comes), LIMIT) is None


async def test_a_sender_who_goes_away_in_the_middle_is_no_error() -> None:
    """Nobody is left to be answered, and nothing has gone wrong here."""
    messages: list[dict[str, object]] = [
        {"type": "http.request", "body": b"half", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> dict[str, object]:
        return messages.pop(0)

    assert (
        await read_body(Request({"type": "http", "method": "POST", "headers": []}, receive), LIMIT)
        is None
    )


async def test_an_sdk_reads_only_the_beginning_of_an_endless_response() -> None:
    """It reads every response whole."""

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 1024 * 1024)

    application = web.Application()
    application.router.add_get("/", endless)
    with serving(application) as url:
        async with open_sdk_session(url, connect_s=5.0) as session, session.get(url) as response:
            assert await response.read() == b"x" * MOST_BYTES
