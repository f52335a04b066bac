"""Server-sent events: a response that sends JSON lines, stays alive in silence, and ends at
shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, suppress

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from bot.errors import StoreUnavailable

HEARTBEAT_S = 15.0  # proxies cut a connection that is silent for about a minute
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # nginx would buffer the events
COMMENT = b":\n\n"


class EventStream:
    """A response (an ASGI application) with one ``data:`` line per event.

    Args:
        events: JSON without line breaks.
        resources: closed when the response ends, for whatever reason.
        closing: once set, the stream ends; a server that shuts down waits for its open responses.
    """

    def __init__(
        self,
        events: AsyncIterator[bytes],
        resources: AsyncExitStack,
        closing: asyncio.Event,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        self._events = events
        self._resources = resources
        self._closing = closing
        self._heartbeat_s = heartbeat_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(StoreUnavailable):  # closing the resources may raise it, and nobody reads on
            async with self._resources, aclosing(self._frames()) as frames:
                response = StreamingResponse(
                    frames, media_type="text/event-stream", headers=HEADERS
                )
                await response(scope, receive, send)

    async def _frames(self) -> AsyncGenerator[bytes]:
        yield COMMENT  # the headers go out at once
        closing = asyncio.ensure_future(self._closing.wait())
        coming = asyncio.ensure_future(anext(self._events, None))
        try:
            while True:
                await asyncio.wait(
                    {closing, coming},
                    timeout=self._heartbeat_s,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if closing.done():
                    return
                if not coming.done():
                    yield COMMENT
                elif (event := coming.result()) is None:
                    return
                else:
                    yield b"data: " + event + b"\n\n"
                    coming = asyncio.ensure_future(anext(self._events, None))
        except StoreUnavailable:
            return  # the page reconnects, and then reads the history
        finally:
            closing.cancel()
            coming.cancel()
            await asyncio.gather(closing, coming, return_exceptions=True)
