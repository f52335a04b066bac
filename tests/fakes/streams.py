"""What a stand-in for a streaming model sends: its pieces one after the other, to a whole, a broken
or no end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from aiohttp import web

End = Literal["whole", "cut", "stalled"]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One answer.

    Attributes:
        end: ``cut`` drops the connection after the pieces, ``stalled`` keeps it open and silent.
    """

    pieces: tuple[bytes, ...] = ()
    end: End = "whole"
    status: int = 200
    content_type: str = "text/event-stream"
    headers: Mapping[str, str] = field(default_factory=dict)


async def send(request: web.Request, outgoing: Outgoing) -> web.StreamResponse:
    """Send it, each piece by itself; one that stalls from the start says nothing at all."""
    if outgoing.end == "stalled" and not outgoing.pieces:
        await asyncio.Event().wait()
    headers = {"content-type": outgoing.content_type, **outgoing.headers}
    response = web.StreamResponse(status=outgoing.status, headers=headers)
    await response.prepare(request)
    for piece in outgoing.pieces:
        await response.write(piece)
    if outgoing.end == "stalled":
        await asyncio.Event().wait()
    if outgoing.end == "cut" and request.transport is not None:
        request.transport.close()
    return response
