"""A hostile website on loopback, for every host a test names, and the network that leads to it.

async with hostile_site() as site:
    site.page("page.example", "/", b"<p>text", "text/html")
    fetcher = PageFetcher(site.resolve, site.network)

The addresses that names resolve to are public ones, so the real check is in force; only the
connection to a checked address ends here instead of on the internet, and the site knows which
address it was meant for.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import httpcore

PUBLIC = "93.184.215.14"

Write = Callable[[bytes], Awaitable[None]]
Talk = Callable[[Write], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request as it came in; header names are in lower case."""

    host: str
    target: str
    headers: dict[str, str]


class HostileSite:
    """The server, its names and its network.

    Attributes:
        requests: all that came in.
        lookups: the names that were looked up.
        connections: the addresses and ports that were connected to.
        dead: addresses where nobody answers.
    """

    def __init__(self) -> None:
        self.requests: list[PageRequest] = []
        self.lookups: list[str] = []
        self.connections: list[tuple[str, int]] = []
        self.dead: set[str] = set()
        self.ports: dict[int, int] = {}
        self._answers: dict[str, list[list[str]]] = {}
        self._pages: dict[tuple[str, str], Talk] = {}

    @property
    def network(self) -> httpcore.AsyncNetworkBackend:
        """Connections to any address end at the site."""
        return _ToLoopback(self)

    def name(self, name: str, *answers: list[str]) -> None:
        """Let a name resolve to these, one after the other; the last answer stays."""
        self._answers[name] = list(answers)

    async def resolve(self, name: str, _conversation: str = "") -> Sequence[str]:
        """The next answer; a public address for names that nobody has set."""
        self.lookups.append(name)
        answers = self._answers.get(name, [[PUBLIC]])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def talk(self, host: str, target: str, talk: Talk) -> None:
        """Let a function write what is answered there."""
        self._pages[host, target] = talk

    def raw(self, host: str, target: str, *pieces: bytes) -> None:
        """Answer with these bytes."""

        async def talk(write: Write) -> None:
            for piece in pieces:
                await write(piece)

        self.talk(host, target, talk)

    def page(
        self,
        host: str,
        target: str,
        body: bytes,
        content_type: str,
        status: int = 200,
        headers: Iterable[str] = (),
    ) -> None:
        """Answer with a page."""
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers]
        lines += [f"Content-Type: {content_type}"] if content_type else []
        self.raw(host, target, "\r\n".join([*lines, "", ""]).encode() + body)

    def redirect(self, host: str, target: str, location: str, status: int = 302) -> None:
        """Answer with a redirect."""
        self.page(host, target, b"", "", status, [f"Location: {location}"])

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request and close."""

        async def write(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        with suppress(
            ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError
        ):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
            headers = {
                name.lower(): value
                for name, _, value in (line.partition(": ") for line in head[1:] if line)
            }
            request = PageRequest(headers["host"], head[0].split(" ")[1], headers)
            self.requests.append(request)
            await self._pages.get((request.host, request.target), _not_found)(write)
        writer.close()


async def _not_found(write: Write) -> None:
    await write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


class _ToLoopback(httpcore.AsyncNetworkBackend):
    def __init__(self, site: HostileSite) -> None:
        self._site = site
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self._site.connections.append((host, port))
        if host in self._site.dead:
            raise httpcore.ConnectError(f"nobody at {host}")
        return await self._network.connect_tcp("127.0.0.1", self._site.ports[port])


@asynccontextmanager
async def hostile_site(tls: ssl.SSLContext | None = None) -> AsyncIterator[HostileSite]:
    """A running site; with a context, port 443 leads to it too."""
    site = HostileSite()
    plain = await asyncio.start_server(site.converse, "127.0.0.1", 0)
    site.ports[80] = plain.sockets[0].getsockname()[1]
    secure = await asyncio.start_server(site.converse, "127.0.0.1", 0, ssl=tls) if tls else None
    if secure:
        site.ports[443] = secure.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        for server in filter(None, (plain, secure)):
            server.close()
