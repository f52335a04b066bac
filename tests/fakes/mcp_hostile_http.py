"""An MCP server over streamable HTTP that floods, written without the SDK; it prints its address.

Its form is that of https://modelcontextprotocol.io/specification/2025-11-25/basic/transports. The
argument says what the stream that a client opens by GET does:

    spam       notifications without an end
    returns    events ended by single carriage returns, without an end
    asks       requests without an end; the answers to them are never answered
    ends       it ends at once, and asks the client to come back at once
    grows      one event without an end

An argument ``levels`` of a call asks for data of so many.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from aiohttp import web

INFO = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}}}
TOOL = {"name": "do", "inputSchema": {"type": "object"}}
CHANGED = json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).encode()
PING = json.dumps({"jsonrpc": "2.0", "id": "x", "method": "ping"}).encode()
FLOODS = {
    "spam": b"data: " + CHANGED + b"\n\n",
    "returns": b"data: " + CHANGED + b"\r\r",
    "asks": b"data: " + PING + b"\r\n\r\n",
    "grows": b"data: " + b"x" * 60_000 + b"\n",
}
RESULTS: dict[str, Any] = {
    "initialize": {**INFO, "serverInfo": {"name": "hostile", "version": "1"}},
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "fine"}]},
}
OPENED = web.AppKey("opened", list[str])


async def post(request: web.Request) -> web.Response:
    """Answer a message."""
    message = json.loads(await request.read())
    if "method" not in message:
        await asyncio.sleep(3600)
    if "id" not in message:
        return web.Response(status=202)
    if message["method"] == "tools/call" and message["params"]["arguments"].get("opened"):
        text = {"type": "text", "text": str(len(request.app[OPENED]))}
        return web.json_response(
            {"jsonrpc": "2.0", "id": message["id"], "result": {"content": [text]}}
        )
    if message["method"] == "tools/call" and (
        levels := message["params"]["arguments"].get("levels")
    ):
        data = '{"a": ' * levels + "1" + "}" * levels
        result = f'{{"content": [], "structuredContent": {data}}}'
        answer = f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": {result}}}'
        return web.Response(text=answer, content_type="application/json")
    if message["method"] not in RESULTS:
        error = {"code": -32601, "message": "Method not found"}
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})
    headers = {"Mcp-Session-Id": "one"} if message["method"] == "initialize" else {}
    result = RESULTS[message["method"]]
    return web.json_response(
        {"jsonrpc": "2.0", "id": message["id"], "result": result}, headers=headers
    )


async def stream(request: web.Request) -> web.StreamResponse:
    """Flood."""
    request.app[OPENED].append("")
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    if sys.argv[1] == "ends":
        await response.write(b"retry: 0\n\n")
        return response
    while True:
        await response.write(FLOODS[sys.argv[1]] * 100)


async def serve() -> None:
    """Serve until the process is ended."""
    app = web.Application()
    app[OPENED] = []
    app.router.add_post("/mcp", post)
    app.router.add_get("/mcp", stream)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
