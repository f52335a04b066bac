"""The SDK's HTTP transport: one aiohttp session; media and the events of an answer pass the SDK by.

Gemini wants its parts back byte for byte, but the SDK's models drop the fields they do not know,
refuse
``"args": ""`` and take most of a request's CPU time. So the SDK sends the request and judges the
status; the stream after a 200 is kept for ``client.py``, and the SDK gets an empty one.

The session is aiohttp's because httpx's own pool becomes slow beyond a hundred requests in flight.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import aiohttp
import httpx

from bot.http import ERROR_CAP, beginning, open_session
from bot.providers.retry_policy import CONNECT_TIMEOUT_S
from bot.providers.shared.request import Attachments, Body, length_of
from bot.providers.shared.streaming import STREAM_CAP

EVENT_STREAM = "text/event-stream"
KEPT_HEADERS = (
    "content-type",
    "retry-after",
)  # others describe a connection and an encoding that end here

_exchange: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What passes the SDK by: the media of a request, the stream of a response."""

    attachments: Attachments
    streams: list[aiohttp.ClientResponse] = field(default_factory=list)


class Relay(httpx.AsyncBaseTransport):
    """An httpx transport over one aiohttp session; the first request opens it, as it needs a
    running loop."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request.

        Raises:
            aiohttp.ClientError: untranslated.
        """
        exchange = _exchange.get()
        attachments = exchange.attachments if exchange else Attachments()
        body = attachments.body(await request.aread())
        response = await self.send(request.method, str(request.url), dict(request.headers), body)
        headers = {
            name: response.headers[name] for name in KEPT_HEADERS if name in response.headers
        }
        if exchange and response.status == 200 and response.content_type == EVENT_STREAM:
            exchange.streams.append(response)
            return httpx.Response(200, headers=headers)
        return httpx.Response(response.status, headers=headers, stream=_Body(response))

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | Body
    ) -> aiohttp.ClientResponse:
        """Send one request."""
        if self._session is None:
            self._session = open_session(url, connect_s=CONNECT_TIMEOUT_S, tls=self._tls)
        return await self._session.request(
            method, url, headers={**headers, **length_of(body)}, data=body, allow_redirects=False
        )

    async def aclose(self) -> None:
        """Close the session with its connections."""
        if self._session is not None:
            await self._session.close()


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._most = STREAM_CAP if response.status == 200 else ERROR_CAP

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in beginning(self._response.content.iter_any(), self._most):
            yield piece

    async def aclose(self) -> None:
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


@contextmanager
def kept_streams(attachments: Attachments) -> Iterator[list[aiohttp.ClientResponse]]:
    """The streams that requests inside this block open. The caller closes them.

    Args:
        attachments: the media whose marks stand in the JSON of these requests.
    """
    exchange = Exchange(attachments)
    token = _exchange.set(exchange)
    try:
        yield exchange.streams
    finally:
        _exchange.reset(token)
