"""The way to Google and back: the SDK's requests over one aiohttp session, the events of an answer past the SDK.

Gemini wants its parts back byte for byte, but the SDK's models drop the fields they do not know, refuse
``"args": ""`` and take most of a request's CPU time. So the SDK sends the request and judges the status; the stream
that follows a 200 is kept for us to read, and the SDK sees an empty one.

aiohttp carries what httpx has built because httpx's own pool becomes slow beyond a hundred requests in flight.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx

EVENT_STREAM = "text/event-stream"
KEPT_HEADERS = ("content-type", "retry-after")  # the others describe a connection and an encoding that end here
KEEP_ALIVE_S = 60.0
CONNECT_S = 10.0

_streams: ContextVar[list[aiohttp.ClientResponse] | None] = ContextVar("streams", default=None)


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
            self._session = _open_session(self._tls, _proxy(request.url))
        response = await self._session.request(
            request.method,
            str(request.url),
            headers=request.headers.multi_items(),
            data=await request.aread(),
            allow_redirects=False,
        )
        headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        kept = _streams.get()
        if kept is not None and response.status == 200 and response.content_type == EVENT_STREAM:
            kept.append(response)
            return httpx.Response(200, headers=headers)
        return httpx.Response(response.status, headers=headers, stream=_Body(response))

    async def aclose(self) -> None:
        """Close the session's connections."""
        if self._session is not None:
            await self._session.close()


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._response.content.iter_any():
            yield piece

    async def aclose(self) -> None:
        self._response.release()


@contextmanager
def kept_streams() -> Iterator[list[aiohttp.ClientResponse]]:
    """The streams that requests made inside have opened. Whoever takes one releases it."""
    kept: list[aiohttp.ClientResponse] = []
    token = _streams.set(kept)
    try:
        yield kept
    finally:
        _streams.reset(token)


def _open_session(tls: ssl.SSLContext, proxy: str | None) -> aiohttp.ClientSession:
    """No limit on connections: how many turns run at once is the worker's to say. Time-outs are the provider's."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S, ssl=tls),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
        proxy=proxy,
    )


def _proxy(url: httpx.URL) -> str | None:
    """The system's proxy, looked up once: aiohttp's ``trust_env`` looks in a thread, for every request."""
    return None if proxy_bypass(url.host) else getproxies().get(url.scheme)
