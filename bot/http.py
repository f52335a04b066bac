"""HTTP: sessions for calling others, the bodies of requests and responses, read up to a limit, the
files of a page, and tries of tokens.

Kaiwa asks for no compression. A body that is compressed all the same is not expanded: one megabyte
may become many.
"""

from __future__ import annotations

import hashlib
import ssl
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from toolset.web.decoding import MOST_BYTES

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

KEEP_ALIVE_S = 60.0  # that an idle connection is kept for the next request
WEBHOOK_CAP = 1024 * 1024  # bytes; those of platforms are far smaller
ERROR_CAP = 64 * 1024  # bytes of an error; those of vendors have less than 2 KiB
MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
# So many wrong tokens are allowed per address in WINDOW_S.
TRIES = 10
TRIES_OF_ALL = 100
WINDOW_S = 60.0
ADDRESSES = 1024  # remembered


@cache
def tls_context() -> ssl.SSLContext:
    """One for all clients: reading the authorities that it trusts takes 20 ms and 1 MB."""
    return httpx.create_ssl_context()


def open_session(
    url: str,
    *,
    connect_s: float,
    connections: int = 0,
    tls: ssl.SSLContext | bool = True,
    is_local: bool = False,
    **for_sdk: Any,
) -> ClientSession:
    """A session for one service. It limits the time for connecting; whoever asks limits the rest,
    and follows no redirect: a key goes to one host.

    Args:
        url: of the service: the system's proxy for it is looked up once, not for every request.
        connections: at most so many at once; 0 for no limit.
        is_local: no proxy stands between.
        for_sdk: more options of the session.
    """
    import aiohttp  # noqa: PLC0415 -- takes 0.2 s, which the start does not wait for

    parts = urlsplit(url)
    is_direct = is_local or proxy_bypass(parts.hostname or "")
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=connections, keepalive_timeout=KEEP_ALIVE_S, ssl=tls),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=connect_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=None if is_direct else getproxies().get(parts.scheme),
        auto_decompress=False,
        **for_sdk,
    )


def open_sdk_session(
    url: str, *, connect_s: float, connections: int = 0, tls: ssl.SSLContext | bool = True
) -> ClientSession:
    """The same for an SDK, which follows redirects and reads every response whole: a redirect is an
    error, and of a response it gets ``MOST_BYTES`` bytes."""
    import aiohttp  # noqa: PLC0415 -- as above

    class Capped(aiohttp.ClientResponse):
        async def read(self) -> bytes:
            if self._body is None:
                try:
                    self._body = await read_beginning(self, MOST_BYTES)
                except BaseException:
                    self.close()
                    raise
            return self._body

    async def refuse(*_: object) -> None:
        raise aiohttp.ClientError("a redirect")

    redirects = aiohttp.TraceConfig()
    redirects.on_request_redirect.append(refuse)
    return open_session(
        url,
        connect_s=connect_s,
        connections=connections,
        tls=tls,
        response_class=Capped,
        trace_configs=[redirects],
    )


async def beginning(pieces: AsyncIterable[bytes], most: int) -> AsyncIterator[bytes]:
    """The first ``most`` bytes; later pieces are not requested."""
    left = most
    async for piece in pieces:
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return


async def read_beginning(response: ClientResponse, most: int = ERROR_CAP) -> bytes:
    """The first ``most`` bytes of a body; the connection of a longer body is closed."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) >= most:
            break
    if not response.content.at_eof():
        response.close()
    return bytes(body[:most])


async def read_body(request: Request, limit: int = WEBHOOK_CAP) -> bytes | None:
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


def serving(body: bytes, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that serves a file; browsers ask again only for what has changed."""
    headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()[:20]}"', "Cache-Control": "no-cache"}

    async def serve(request: Request) -> Response:
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers, media_type=media_type)

    return serve


class Throttle:
    """Counts wrong tries in this process, per address and in total: an attacker may have many
    addresses."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all: deque[float] = deque(maxlen=TRIES_OF_ALL)
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, address: str) -> float:
        """Seconds until this address may try again; 0 where it may now."""
        return max(self._rest_s(self._all), self._rest_s(self._wrong.get(address)))

    def wrong(self, address: str) -> None:
        """Count a wrong try; with more than ``ADDRESSES`` the one that tried longest ago is
        dropped."""
        now = self._clock()
        self._all.append(now)
        self._wrong.setdefault(address, deque(maxlen=TRIES)).append(now)
        self._wrong.move_to_end(address)
        if len(self._wrong) > ADDRESSES:
            self._wrong.popitem(last=False)

    def _rest_s(self, tries: deque[float] | None) -> float:
        """Seconds until the oldest try leaves the window; 0 while there are fewer tries than
        allowed."""
        if not tries or len(tries) != tries.maxlen:
            return 0.0
        return max(0.0, tries[0] + WINDOW_S - self._clock())
