"""A server with an address that does not keep to the protocol, or to any measure."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from tests.fakes.serving import serving as serving_http
from tests.toolset.mcp.servers import TEXT, listed, serving
from toolset.mcp.config import ServerConfig

Answer = Callable[[dict[str, Any]], web.Response]
INFO = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}


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
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})

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
    cause, text = await outcome(tools_call=lambda _: web.Response(text="x" * size, content_type="application/json"))
    assert cause == ""
    assert "the server refuses the call: Failed to parse JSON response" in text


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

    assert (await outcome(tools_call=refuse))[1] == "{'error': 'the server refuses the call: no such place'}"


async def test_a_session_that_the_server_has_forgotten_is_made_anew() -> None:
    """As after its restart."""
    forgets = iter([True])

    def forget(message: dict[str, Any]) -> web.Response:
        if next(forgets, False):
            error = {"code": -32600, "message": "Session terminated"}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error}, status=404)
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": TEXT})

    with serving_http(replying(tools_call=forget)) as base:
        async with serving(ServerConfig("s", url=f"{base}/mcp")) as served:
            assert "the outcome is unknown" in await served.text("s_do")
            assert await served.text("s_do") == "fine"
