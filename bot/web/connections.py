"""Connection limits: the bytes and seconds of a request, and the number of connections at once.

uvicorn has none of these. In front of its protocol stands one of ours, which passes everything on,
and around the application a layer that learns what of a request has come.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import structlog
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

log = structlog.stdlib.get_logger(__name__)

# So many descriptors are requested, even if the system allows more.
MOST_DESCRIPTORS = 65_536
MOST_CONNECTIONS = 4096
# These descriptors are for Redis, models and platforms; they are at most half of all.
RESERVED = 4096
# Two log lines of one kind have so much time between them.
LOG_S = 60.0
CLOSED = "those whose clients have been silent longest"
MIB = 1024 * 1024
# uvicorn reads no more of a body while the application has left this much of it unread.
BUFFERED = 64 * 1024
BODY_HEADERS = (b"content-length", b"transfer-encoding")

TOO_LARGE = Response(status_code=431, headers={"connection": "close"})
REFUSAL = b"HTTP/1.1 431 Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of connections.

    Attributes:
        head_bytes: of a request's head, and of the trailers behind its body.
        client_s: how long a client may take to send a request, and to go on reading a response.
        look_s: how often late clients are looked for.
        connections: at once.
        held_bytes: of all requests that are not complete.
    """

    head_bytes: int = 64 * 1024
    client_s: float = 20.0
    look_s: float = 1.0
    connections: int = MOST_CONNECTIONS
    held_bytes: int = 64 * MIB


def bounds_here() -> Bounds:
    """Raise this process's limit of open descriptors as far as the system allows; returns bounds
    that fit it."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if most == resource.RLIM_INFINITY else min(most, MOST_DESCRIPTORS)
    if limit != resource.RLIM_INFINITY and limit < wanted:
        with suppress(OSError, ValueError):
            # macOS may grant less than it reports.
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
            limit = wanted
    free = MOST_DESCRIPTORS if limit == resource.RLIM_INFINITY else limit
    return Bounds(connections=min(MOST_CONNECTIONS, free - min(free // 2, RESERVED)))


class Connections:
    """A server's connections; those whose clients are late or too many are closed.

    A connection whose request is complete is never closed: a signed webhook arrives whole.
    """

    def __init__(self, bounds: Bounds, clock: Callable[[], float] = time.monotonic) -> None:
        self.bounds = bounds
        self._clock = clock
        self._open: set[Connection] = set()
        # Since when each of these waits for its client, the longest first.
        self._waiting: dict[Connection, float] = {}
        self._held = 0
        self._logged_at: dict[str, float] = {}

    async def close_late(self) -> None:
        """Close the connections of late clients; never returns."""
        while True:
            await asyncio.sleep(self.bounds.look_s)
            late = self._clock() - self.bounds.client_s
            while self._waiting:
                connection, since = next(iter(self._waiting.items()))
                if since > late:
                    break
                if connection.is_held_up:
                    self.wait(connection)
                else:
                    self.close(connection)

    def open(self, connection: Connection) -> None:
        """Count a new connection; over the limit, close the one whose client has been silent
        longest."""
        self._open.add(connection)
        self.wait(connection)
        if len(self._open) > self.bounds.connections:
            if self._may_log("connections"):
                log.warning("connections.at_limit", limit=self.bounds.connections, closed=CLOSED)
            self.close(next(iter(self._waiting)))

    def close(self, connection: Connection) -> None:
        self._open.discard(connection)
        self.work(connection)
        connection.transport.abort()

    def wait(self, connection: Connection) -> None:
        """From now on the connection waits for its client, to send or to read."""
        self.work(connection)
        if connection in self._open:
            self._waiting[connection] = self._clock()

    def work(self, connection: Connection) -> None:
        """The connection has a whole request, or has ended."""
        self._waiting.pop(connection, None)
        self._held -= connection.held
        connection.held = 0

    def hold(self, connection: Connection, count: int) -> None:
        """Count bytes of an incomplete request."""
        if connection in self._waiting:
            connection.held += count
            self._held += count
            if self._held > self.bounds.held_bytes:
                # By then the application may have got the whole request.
                asyncio.get_running_loop().call_soon(self._close_largest)

    def _close_largest(self) -> None:
        if self._held > self.bounds.held_bytes:
            if self._may_log("requests"):
                log.warning("requests.at_limit", bytes=self.bounds.held_bytes, closed=CLOSED)
            self.close(max(self._waiting, key=lambda waiting: waiting.held))

    def _may_log(self, what: str) -> bool:
        """One line a minute: a flood of connections must not flood the log too."""
        now = self._clock()
        if now - self._logged_at.get(what, -LOG_S) < LOG_S:
            return False
        self._logged_at[what] = now
        return True


class Connection(asyncio.Protocol):
    """Stands in front of uvicorn's protocol, which gets the transport and writes to it.

    Attributes:
        held: bytes of the incomplete request, counted by ``Connections``.
    """

    transport: asyncio.Transport

    def __init__(
        self, connections: Connections, *, app_state: dict[str, Any], **given: Any
    ) -> None:
        self.held = 0
        self._connections = connections
        # The state comes back in the scope of each request. The class has no common constructor.
        self._server = AutoHTTPProtocol(  # type: ignore[call-arg]
            app_state={**app_state, "connection": self}, **given
        )
        # Of the request that the application works on, and whether its end has come.
        self._scope: Scope | None = None
        self._is_whole = False
        # Bytes that have come since the application last took something.
        self._new = 0
        self._is_refused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]  # a server's
        self._server.connection_made(transport)
        self._connections.open(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.close(self)
        self._server.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        self._server.data_received(data)
        self._connections.hold(self, len(data))
        self._new += len(data)
        if self._new > self._connections.bounds.head_bytes:
            # By then the application has started, or has taken the piece.
            asyncio.get_running_loop().call_soon(self._check)

    def pause_writing(self) -> None:
        self._server.pause_writing()
        if self._is_whole:
            self._connections.wait(self)

    def resume_writing(self) -> None:
        self._server.resume_writing()
        if self._is_whole:
            self._connections.work(self)

    @property
    def is_held_up(self) -> bool:
        """Whether the client cannot send its request, because the application does not read."""
        return bool(self._scope) and not self._is_whole and not self.transport.is_reading()

    def begin(self, scope: Scope) -> bool:
        """The head of a request has come; returns whether it is small enough."""
        self._scope, self._is_whole = scope, False
        size = len(scope["raw_path"]) + len(scope["query_string"])
        has_body = False
        for name, value in scope["headers"]:
            size += len(name) + len(value)
            has_body = has_body or name in BODY_HEADERS
        self.take(scope, is_last=not has_body)
        return size <= self._connections.bounds.head_bytes

    def take(self, scope: Scope, *, is_last: bool) -> None:
        """The application has got a piece of a request."""
        if scope is not self._scope:
            return
        self._new = 0
        if is_last:
            self._is_whole = True
            self._connections.work(self)

    def end(self, scope: Scope) -> None:
        """The application has ended, perhaps after the next request has begun."""
        if scope is self._scope:
            self._scope, self._is_whole = None, False
            self._connections.wait(self)

    def _check(self) -> None:
        """Refuse what is larger than a head may be, unless uvicorn reads no more of it."""
        over = self._new - self._connections.bounds.head_bytes
        if over <= 0 or self._is_refused or not self.transport.is_reading():
            return
        if self._scope is None:
            # A client that still sends would not see the response if the connection were closed.
            self._is_refused = True
            self.transport.write(REFUSAL)
            self.transport.write_eof()
        elif over > BUFFERED:
            self.transport.abort()


def watched(app: ASGIApp) -> ASGIApp:
    """The application, for a server with ``Connection`` in front of its protocol."""

    async def run(scope: Scope, receive: Receive, send: Send) -> None:
        connection: Connection = scope["state"]["connection"]

        async def take() -> Message:
            message = await receive()
            connection.take(scope, is_last=not message.get("more_body"))
            return message

        chosen = app if connection.begin(scope) else TOO_LARGE
        try:
            await chosen(scope, take, send)
        finally:
            connection.end(scope)

    return run
