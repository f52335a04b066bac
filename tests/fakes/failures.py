"""The ways in which a JSON service fails, whichever it is: for stand-ins made with aiohttp."""

from __future__ import annotations

import asyncio

from aiohttp import web

FAILURES = ("500", "redirect", "stalled", "dripping", "huge", "not_json", "wrong_shape", "no_object", "closed")


async def failed(request: web.Request, failure: str) -> web.StreamResponse:
    """Fail in this way; a number is a status."""
    if failure.isdecimal():
        return web.json_response({"error": "sk-secret"}, status=int(failure))
    if failure == "redirect":
        return web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"})
    if failure in ("not_json", "no_object", "wrong_shape"):
        body = {"not_json": "<html>", "no_object": "[1]", "wrong_shape": '{"results": 1, "web": {"results": "x"}}'}
        return web.Response(text=body[failure], content_type="application/json")
    response = web.StreamResponse()
    if failure == "stalled":
        await asyncio.Event().wait()
    await response.prepare(request)
    if failure == "closed" and request.transport:
        request.transport.close()
    while failure == "dripping":
        await response.write(b" ")
        await asyncio.sleep(0.1)
    if failure == "huge":
        await response.write(b" " * (2 * 1024 * 1024))
    return response
