"""Fetches a document from a public address. The server may be hostile, and so may be who names the
address.

    URL → scheme, port, no password → addresses of the host, once, all public → connection to one of
    these → redirect: all of it again

There are no cookies, and no proxy from the environment is used: a proxy would resolve the name
itself.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import httpcore
import httpx

from toolset.tool import ToolError
from toolset.web.public_address import Address, Resolver, public_addresses

BODY_CAP = 2_000_000  # bytes
URL_CAP = 2000  # characters
MAX_REDIRECTS = 5
MAX_ADDRESSES = 3  # tried one after the other
CONNECT_S = 1.5  # for one address
READ_SIZE = (
    4096  # bytes parsed without a pause; a chunked body may have an event in every six of them
)

REDIRECTS = frozenset({301, 302, 303, 307, 308})
HEADERS: dict[bytes | str, bytes | str] = {
    "User-Agent": "Mozilla/5.0 (compatible; Kaiwa)",
    "Accept": "text/html,application/xhtml+xml,application/pdf,text/plain;q=0.9,*/*;q=0.1",
    "Accept-Encoding": "identity",
    "Connection": "close",
}

Kind = Literal["html", "pdf", "plain"]
KINDS: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/pdf": "pdf",
    "text/plain": "plain",
    "text/markdown": "plain",
    "text/csv": "plain",
    "application/json": "plain",
}
CHARSET = re.compile(r"(?:^|;)\s{0,9}charset=[\"']?([\w.:-]{1,40})", re.IGNORECASE | re.ASCII)
HTTP_ERRORS = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException)


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it was served.

    Attributes:
        url: after redirects.
        charset: as the server names it; empty where it does not.
    """

    url: str
    kind: Kind
    charset: str
    body: bytes


class PageFetcher:
    """A client of any public website; the caller limits the time.

    Args:
        resolve: looks names up, once for each request.
        network: connects to an address that is already checked.
        tls: makes the context that checks certificates; called once, in a thread.
    """

    def __init__(
        self,
        resolve: Resolver,
        network: httpcore.AsyncNetworkBackend,
        tls: Callable[[], ssl.SSLContext] = httpx.create_ssl_context,
    ) -> None:
        self._resolve = resolve
        self._network = network
        self._make_tls = tls
        self._tls: ssl.SSLContext | None = None

    async def fetch(self, url: str, conversation: str = "") -> Document:
        """The document at an address, after at most five redirects.

        Args:
            conversation: that asks for it.

        Raises:
            ToolError: the address, the server or the document is refused, with one text per reason.
        """
        target = _parsed(url)
        for _ in range(MAX_REDIRECTS + 1):
            addresses = await public_addresses(
                target.raw_host.decode("ascii"), self._resolve, conversation
            )
            answer = await self._ask(target, addresses)
            if isinstance(answer, Document):
                return answer
            target = _parsed(answer, target)
        raise ToolError("the page redirects too often")

    async def _ask(self, target: httpx.URL, addresses: Sequence[Address]) -> Document | str:
        """The document, or the address it redirects to."""
        if self._tls is None and target.scheme == "https":
            self._tls = await asyncio.to_thread(self._make_tls)
        url = httpcore.URL(
            scheme=target.raw_scheme, host=target.raw_host, port=None, target=target.raw_path
        )
        headers = HEADERS | {"Host": target.netloc}
        network = _CheckedNetwork(self._network, addresses)
        try:
            async with (
                httpcore.AsyncConnectionPool(
                    self._tls, max_connections=1, network_backend=network
                ) as pool,
                pool.stream("GET", url, headers=headers) as response,
            ):
                return await _read(target, response)
        except HTTP_ERRORS as error:
            raise ToolError("the website cannot be reached, or has no valid certificate") from error


class _CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to the addresses that were checked, whatever the name would resolve to by now."""

    def __init__(self, network: httpcore.AsyncNetworkBackend, addresses: Sequence[Address]) -> None:
        self._network = network
        self._addresses = addresses

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        failure: Exception = httpcore.ConnectError()
        for address in self._addresses[:MAX_ADDRESSES]:
            try:
                return _SmallReads(
                    await self._network.connect_tcp(str(address), port, timeout=CONNECT_S)
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure


class _SmallReads(httpcore.AsyncNetworkStream):
    """A connection that is read in small pieces, so that no piece occupies the event loop for
    long."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream

    # httpcore's
    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self._stream.read(min(max_bytes, READ_SIZE), timeout)

    # httpcore's
    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 -- the signature is httpcore's
    ) -> httpcore.AsyncNetworkStream:
        return _SmallReads(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _parsed(url: str, base: httpx.URL | None = None) -> httpx.URL:
    """The address as it is checked and then requested: one parser for both.

    Raises:
        ToolError: it is none, or has a password or a port.
    """
    try:
        parsed = base.join(url) if base else httpx.URL(url)
    except (httpx.InvalidURL, ValueError) as error:
        raise ToolError("this is no address of a page") from error
    if parsed.scheme not in ("http", "https") or not parsed.raw_host:
        raise ToolError("write a complete address of a web page; only http and https can be read")
    if parsed.port is not None:
        raise ToolError("only the usual ports of http and https can be read: leave the port out")
    if parsed.userinfo:
        raise ToolError("an address with a user or a password is not read")
    if len(str(parsed)) > URL_CAP:
        raise ToolError("the address is too long")
    return parsed


async def _read(target: httpx.URL, response: httpcore.Response) -> Document | str:
    headers = {name.lower(): value.decode("latin-1") for name, value in response.headers}
    if response.status in REDIRECTS and (location := headers.get(b"location", "")):
        return location.encode("latin-1").decode("utf-8", "replace")
    if response.status != httpx.codes.OK:
        raise ToolError(f"the website answers with status {response.status}")
    media_type, _, parameters = headers.get(b"content-type", "").partition(";")
    kind = KINDS.get(media_type.strip().lower())
    if kind is None:
        raise ToolError("this is no page: only HTML, PDF and plain text can be read")
    if headers.get(b"content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise ToolError("the website sends this page only in compressed form, which is not read")
    return Document(
        str(target),
        kind,
        _charset(parameters),
        await _body(response, headers.get(b"content-length", "")),
    )


async def _body(response: httpcore.Response, announced: str) -> bytes:
    body = bytearray()
    too_large = ToolError(f"the page is larger than {BODY_CAP // 1_000_000} MB")
    if announced.isdecimal() and int(announced) > BODY_CAP:
        raise too_large
    async for chunk in response.aiter_stream():
        body += chunk
        if len(body) > BODY_CAP:
            raise too_large
    return bytes(body)


def _charset(parameters: str) -> str:
    named = CHARSET.search(parameters)
    return named[1] if named else ""
