"""Reads the body of an HTTP request up to a limit."""

from __future__ import annotations

from starlette.requests import ClientDisconnect, Request


async def read_body(request: Request, limit: int) -> bytes | None:
    """Read the whole body; None if it is longer than ``limit`` bytes or the sender disconnects."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
        return None
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                return None
    except ClientDisconnect:
        return None
    return bytes(body)
