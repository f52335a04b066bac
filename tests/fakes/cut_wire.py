"""A wire to Redis that dies with its process, at a request chosen beforehand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import sha1
from urllib.parse import unquote, urlsplit

GREETINGS = ("CLIENT", "HELLO", "SELECT")  # what a connection begins with
TOTALS = "totals"  # a transaction on the counters of a day
JOIN = "join"  # a record that takes entries of the inbox into the turn
REOPEN = "reopen"  # a transaction that goes on with a committed turn
# Beside whatever is done, which does not wait for them.
BY_THE_CLOCK = ("renew", "budget", TOTALS)
UNCOUNTED = (*GREETINGS, *BY_THE_CLOCK)
READS = ("due", "HGET", "LINDEX", "LRANGE", "XRANGE")  # change nothing


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a wire dies.

    Attributes:
        request: counted from 1; with 0 it never does.
        carried_out: the request still reaches the server, and only its answer does not come back.
            Then reads are not counted: to die while one is carried out is to die before it.
    """

    request: int = 0
    carried_out: bool = False


class CutWire:
    """Passes requests on one by one, each connection with its answers, until the cut; then nothing
    passes any more.

    Args:
        scripts: their names by hash.
        notify: told each request's name when the server has carried it out, before its answer goes
            back.

    Attributes:
        requests: the names of those that count, in the order they came.
        is_cut: set at the cut. Nobody is told of it: whoever waits for an answer waits for ever.
    """

    def __init__(
        self,
        server: str,
        cut: Cut,
        scripts: Mapping[str, str],
        notify: Callable[[str], Awaitable[None]],
    ) -> None:
        self.requests: list[str] = []
        self.is_cut = asyncio.Event()
        self._server = unquote(urlsplit(server).path)
        self._cut = cut
        self._scripts = scripts
        self._notify = notify
        self._connections: dict[asyncio.StreamWriter, asyncio.Task[None] | None] = {}
        self._is_dropped = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        """The URL of its near end; afterwards the server has carried out whatever has reached
        it."""
        near_end = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = near_end.sockets[0].getsockname()
        try:
            yield f"redis://{host}:{port}"
        finally:
            self.drop()
            await _knock(host, port)
            near_end.close()
            await asyncio.gather(*filter(None, self._connections.values()))

    def drop(self) -> None:
        """Refuse whoever still tries."""
        self._is_dropped = True
        for connection in self._connections:
            connection.close()

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        if self._is_dropped:
            to_client.close()
            return
        self._connections[to_client] = asyncio.current_task()
        server, to_server = await asyncio.open_unix_connection(self._server)
        with suppress(OSError, asyncio.IncompleteReadError):
            while not self.is_cut.is_set():
                await self._pass_on(await _read(client), server, to_server, to_client)
            _ = await client.read()  # until it is dropped
        to_server.close()
        to_client.close()

    async def _pass_on(
        self,
        request: bytes,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
        back: asyncio.StreamWriter,
    ) -> None:
        is_last = self._count(request) and len(self.requests) == self._cut.request
        if is_last:
            self.is_cut.set()
        if self.is_cut.is_set() and not (is_last and self._cut.carried_out):
            return
        to_server.write(request)
        answer = await _read(server)
        if not answer.startswith(b"-"):
            await self._notify(self._name_of(request))
        if not self.is_cut.is_set():
            back.write(answer)

    def _count(self, request: bytes) -> bool:
        name = self._name_of(request)
        if name in UNCOUNTED or (self._cut.carried_out and name in READS) or self.is_cut.is_set():
            return False
        self.requests.append(name)
        return True

    def _name_of(self, request: bytes) -> str:
        _, _, command, *first = request.split(b"\r\n", 5)[:5]
        name = command.decode()
        if b":totals:" in request:
            return TOTALS
        if name == "EVALSHA":
            name = self._scripts.get(first[1].decode(), name)
        if name == "EVAL":
            name = self._scripts.get(sha1(first[1], usedforsecurity=False).hexdigest(), name)
        if name == "record" and b"\r\njoin\r\n" in request:
            return JOIN
        if name == "transaction" and b"\r\nreopened\r\n" in request:
            return REOPEN
        return name


async def _knock(host: str, port: int) -> None:
    """Wait until whoever came before has been let in: asyncio loses those who stand on the
    threshold of a server that is closed."""
    from_server, to_server = await asyncio.open_connection(host, port)
    _ = await from_server.read()
    to_server.close()
    await to_server.wait_closed()


async def _read(stream: asyncio.StreamReader) -> bytes:
    """One whole request or answer, as it came."""
    line = await stream.readuntil(b"\r\n")
    length = int(line[1:]) if line[:1] in (b"$", b"*") else -1
    if length < 0:
        return line
    if line[:1] == b"$":
        return line + await stream.readexactly(length + 2)
    return b"".join([line, *[await _read(stream) for _ in range(length)]])
