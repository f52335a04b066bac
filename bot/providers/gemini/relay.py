"""The way to Google and back: the SDK's requests over one aiohttp session, and every event handed through whole.

Gemini wants its parts back byte for byte, but the SDK's models drop the fields they do not know, refuse
``"args": ""`` and stop at an SSE comment. So an event travels through the SDK as the value of one text field,
``responseId``, for ``response.py`` to read; that also halves the CPU time of a request.

aiohttp carries what httpx has built because httpx's own pool becomes slow beyond a hundred requests in flight.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator

import aiohttp
import httpx
from yarl import URL

from bot.transcript import encode

BLANK_LINE = re.compile(rb"\r?\n\r?\n")
KEPT_HEADERS = ("content-type", "retry-after")  # the others describe a connection and an encoding that end here
KEEP_ALIVE_S = 60.0
CONNECT_S = 10.0


class Relay(httpx.AsyncBaseTransport):
    """An httpx transport over one aiohttp session, which is opened with the first request: it needs a running loop."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        Raises:
            aiohttp.ClientError: as aiohttp raises it; the caller translates.
        """
        if self._session is None:
            self._session = _open_session(self._tls)
        response = await self._session.request(
            request.method,
            URL(str(request.url), encoded=True),
            headers=request.headers.multi_items(),
            data=await request.aread(),
            allow_redirects=False,
        )
        headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        is_stream = response.status == 200 and response.content_type == "text/event-stream"
        return httpx.Response(response.status, headers=headers, stream=(Events if is_stream else Body)(response))

    async def aclose(self) -> None:
        """Close the session's connections."""
        if self._session is not None:
            await self._session.close()


class Body(httpx.AsyncByteStream):
    """A response as it comes."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._response.content.iter_any():
            yield piece

    async def aclose(self) -> None:
        """Give the connection back, or drop it where the response was not read to its end."""
        self._response.release()


class Events(Body):
    """A stream of server-sent events, each wrapped for its way through the SDK."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = b""
        async for piece in super().__aiter__():
            *blocks, rest = BLANK_LINE.split(rest + piece)
            for block in blocks:
                if event := _data(block):
                    yield _wrapped(event)
        if event := _data(rest):
            yield _wrapped(event)


def _open_session(tls: ssl.SSLContext) -> aiohttp.ClientSession:
    """No limit on connections: how many turns run at once is the worker's to say. Time-outs are the provider's."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S, ssl=tls),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
        trust_env=True,
    )


def _data(block: bytes) -> bytes:
    """The data of one event, empty for a comment; plain JSON is an error Google sends without the SSE form."""
    if block.lstrip().startswith(b"{"):
        return block
    lines = (line[5:].strip() for line in block.splitlines() if line.startswith(b"data:"))
    return b"\n".join(lines)


def _wrapped(event: bytes) -> bytes:
    return b'data: {"responseId":' + encode(event.decode()) + b"}\n\n"
