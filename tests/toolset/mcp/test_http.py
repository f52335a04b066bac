"""A server with an address that does not keep to the protocol, or to any measure."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from aiohttp import web

from tests.fakes.serving import serving as serving_http
from tests.toolset.mcp.servers import TEXT, Served, flood, listed, serving
from tests.waiting import until
from toolset.mcp.config import ServerConfig
from toolset.mcp.http import open_client
from toolset.mcp.session import NO_MCP

Answer = Callable[[dict[str, Any]], web.Response]
INFO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}


def replying(**answers: Answer) -> web.Application:
    """A server that is as it should be, but for the answers to these methods."""

    async def reply(request: web.Request) -> web.Response:
        message = json.loads(await request.read())
        method = message["method"].replace("/", "_")
        if "id" not in message:
            return web.Response(status=202)
        return answers.get(method, usual)(message)

    def usual(message: dict[str, Any]) -> web.Response:
        results = {"initialize": INFO, "tools/list": {"tools": [listed("do")]}, "tools/call": TEXT}
        if message["method"] not in results:
            error = {"code": -32601, "message": "Method not found"}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return web.json_response(
            {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}
        )

    app = web.Application()
    app.router.add_post("/mcp", reply)
    return app


async def outcome(**answers: Answer) -> tuple[str, str]:
    """Why the server is not connected, and what a call answers."""
    with serving_http(replying(**answers)) as base:
        async with serving(ServerConfig("s", url=f"{base}/mcp")) as served:
            return served.server.cause, await served.text("s_do")


async def test_an_older_server_is_called_alike() -> None:
    """It knows no discovery, only the handshake."""
    assert await outcome() == ("", "fine")


@pytest.mark.parametrize("size", [5_000_000, 50_000_000])
async def test_a_body_without_measure_is_not_read(size: int) -> None:
    """Neither to its end nor at all where it is announced; the connection goes on."""
    cause, text = await outcome(
        tools_call=lambda _: web.Response(text="x" * size, content_type="application/json")
    )
    assert cause == ""
    assert text == str({"error": NO_MCP})


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
async def test_events_may_come_in_any_pieces(end: bytes) -> None:
    """With any of the three line ends, also where one is cut in two."""
    spoken = json.dumps({"jsonrpc": "2.0", "id": 1, "result": TEXT}).encode().split(b" ", 1)
    event = b": hello" + end + end + b"data: " + spoken[0] + end + b"data: " + spoken[1] + end + end

    class Pieces(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for one in event:
                yield bytes([one])

    async with httpx2.AsyncClient(
        transport=httpx2.MockTransport(
            lambda _: httpx2.Response(
                200, headers={"Content-Type": "text/event-stream"}, stream=Pieces()
            )
        ),
        event_hooks=open_client(ServerConfig("s"), ssl.create_default_context()).event_hooks,
    ) as http:
        text = (await http.post("http://s/mcp")).content
    assert text.decode().splitlines() == [
        ": hello",
        "",
        f"data: {spoken[0].decode()}",
        f"data: {spoken[1].decode()}",
        "",
    ]


async def test_a_body_of_too_many_values_is_not_read() -> None:
    """It would take the event loop for long."""
    body = b'{"jsonrpc":"2.0","id":1,"result":[' + b"[]," * 100_000 + b"1]}"
    cause, text = await outcome(
        tools_call=lambda _: web.Response(body=body, content_type="application/json")
    )
    assert cause == ""
    assert text == str({"error": NO_MCP})


async def test_a_compressed_body_is_not_expanded() -> None:
    """It was not asked for."""
    body = gzip.compress(b"0" * 1_000_000)
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    cause, text = await outcome(tools_call=lambda _: web.Response(body=body, headers=headers))
    assert cause == ""
    assert "the outcome is unknown" in text


async def test_errors_of_the_protocol_are_the_models() -> None:
    """With the server's words."""

    def refuse(message: dict[str, Any]) -> web.Response:
        error = {"code": -32602, "message": "no such place"}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})

    assert (await outcome(tools_call=refuse))[
        1
    ] == "{'error': 'the server refuses the call: no such place'}"


async def test_a_session_that_the_server_has_forgotten_is_made_anew() -> None:
    """As after its restart."""
    forgets = iter([True])

    def forget(message: dict[str, Any]) -> web.Response:
        if next(forgets, False):
            error = {"code": -32600, "message": "Session terminated"}
            return web.json_response(
                {"jsonrpc": "2.0", "id": message["id"], "error": error}, status=404
            )
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": TEXT})

    with serving_http(replying(tools_call=forget)) as base:
        async with serving(ServerConfig("s", url=f"{base}/mcp")) as served:
            assert "the outcome is unknown" in await served.text("s_do")
            assert await served.text("s_do") == "fine"


@asynccontextmanager
async def flooding(how: str) -> AsyncIterator[Served]:
    """Connected to a server that floods."""
    async with flood(how) as url, serving(ServerConfig("s", url=url)) as served:
        assert served.server.cause == ""
        yield served


@pytest.mark.process
@pytest.mark.parametrize("how", ["spam", "returns", "ends", "grows"])
async def test_a_flood_leaves_time_to_others(how: str) -> None:
    """Whatever the stream is made of; calls are answered meanwhile."""
    async with flooding(how) as served:
        began, spent = time.monotonic(), time.process_time()
        await asyncio.sleep(3)
        assert time.process_time() - spent < (time.monotonic() - began) / 2
        assert await served.text("s_do") == "fine"


@pytest.mark.process
async def test_a_stream_that_ends_again_and_again_is_opened_a_few_times() -> None:
    """Though the server wants it at once."""
    async with flooding("ends") as served:
        await asyncio.sleep(3)
        assert int(await served.text("s_do", opened=True)) < 20


@pytest.mark.process
async def test_requests_whose_answers_are_never_taken_end_the_connection() -> None:
    """Each would keep a task here."""
    async with flooding("asks") as served:
        await until(lambda: bool(served.server.cause))
        assert served.server.cause == "the server closed the connection"
        await until(lambda: len(asyncio.all_tasks()) < 50)
