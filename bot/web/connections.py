"""Connection limits: the bytes and seconds of a request, and the number of connections at once.

uvicorn with httptools has none of these: a head may be endless, and it waits forever for the rest
of a request.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

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

TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: "
    b"0\r\n\r\n"
)
State = Literal["head", "body", "answering", "unread", "idle", "closing"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of connections.

    Attributes:
        head_bytes: of a request's head, and of the trailers behind its body.
        head_s: from the first byte of a head to its last, and from the connection to the first
            head's end.
        body_s: from the end of the head to the end of the body.
        unread_s: how long a client may leave a response unread.
        closing_s: until a closing connection is aborted.
        connections: at once.
        held_bytes: of all requests that are not complete.
    """

    head_bytes: int = 64 * 1024
    head_s: float = 10.0
    body_s: float = 10.0
    unread_s: float = 30.0
    closing_s: float = 2.0
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
    """Counts a server's connections, and closes waiting ones when there are too many.

    A connection whose request is complete is never closed: a signed webhook arrives whole.
    """

    def __init__(self, bounds: Bounds, clock: Callable[[], float] = time.monotonic) -> None:
        self.bounds = bounds
        self._clock = clock
        self._open: set[Connection] = set()
        # These wait for their client, the longest first.
        self._waiting: dict[Connection, None] = {}
        self._held = 0
        self._logged_at: dict[str, float] = {}

    def opened(self, connection: Connection) -> None:
        """Count a new connection; over the limit, close the one whose client has been silent
        longest."""
        self._open.add(connection)
        self._waiting[connection] = None
        if len(self._open) > self.bounds.connections:
            if self._may_log("connections"):
                log.warning("connections.at_limit", limit=self.bounds.connections, closed=CLOSED)
            self._close(next(iter(self._waiting)))

    def closed(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._waiting.pop(connection, None)
        self.release(connection)

    def waits(self, connection: Connection) -> None:
        """The connection waits for its client, to send or to read."""
        self._waiting.pop(connection, None)
        if connection in self._open:
            self._waiting[connection] = None

    def works(self, connection: Connection) -> None:
        """The server works on a response: the connection is not closed to make room."""
        self._waiting.pop(connection, None)

    def hold(self, connection: Connection, count: int) -> None:
        """Count bytes of an incomplete request; over the limit, close the connection of the largest
        one."""
        if connection not in self._open or not connection.is_incomplete:
            return
        connection.held += count
        self._held += count
        if self._held > self.bounds.held_bytes and self._waiting:
            if self._may_log("requests"):
                log.warning("requests.at_limit", bytes=self.bounds.held_bytes, closed=CLOSED)
            self._close(max(self._waiting, key=lambda waiting: waiting.held))

    def release(self, connection: Connection) -> None:
        """Forget the bytes of a request that is complete or given up."""
        self._held -= connection.held
        connection.held = 0

    def _close(self, connection: Connection) -> None:
        self.closed(connection)
        connection.transport.abort()

    def _may_log(self, what: str) -> bool:
        """One line a minute: a flood of connections must not flood the log too."""
        now = self._clock()
        if now - self._logged_at.get(what, -LOG_S) < LOG_S:
            return False
        self._logged_at[what] = now
        return True


class Connection(HttpToolsProtocol):
    """A connection of uvicorn with limits.

    Attributes:
        held: bytes of the incomplete request, counted by ``Connections``.
    """

    def __init__(self, connections: Connections, **uvicorns: Any) -> None:
        super().__init__(**uvicorns)
        self.held = 0
        self._connections = connections
        self._bounds = connections.bounds
        # This is the part of a request that comes next.
        self._part: Literal["head", "body", "none"] = "head"
        self._requests = 0
        # So many bytes have come since the parser last made progress.
        self._silent = 0
        self._advanced = False
        self._is_refused = False
        self._state: tuple[State, int] = ("answering", 0)
        self._timer: asyncio.TimerHandle | None = None

    # The parent class has this signature.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._connections.opened(self)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.closed(self)
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        if self._part == "none":
            self._part = "head"
        self._advanced = False
        super().data_received(data)
        self._silent += len(data)
        if self._advanced:
            self._silent = 0
        if self._silent > self._bounds.head_bytes:
            self._refuse()
        self._connections.hold(self, len(data))
        self._watch()

    def on_headers_complete(self) -> None:
        size = len(self.url)
        for name, value in self.headers:
            size += len(name) + len(value)
        if size > self._bounds.head_bytes:
            # The next check finds it over the limit, and the exception stops the parser.
            self._silent = self._bounds.head_bytes
            raise ValueError("head too large")
        self._advanced = True
        self._part = "body"
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._advanced = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._advanced = True
        self._part = "none"
        self._requests += 1
        self._connections.release(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Called by uvicorn when the parser has stopped; ``_refuse`` has answered an oversized head
        already."""
        if self._silent < self._bounds.head_bytes:
            super().send_400_response(msg)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch()

    @property
    def is_incomplete(self) -> bool:
        """Whether a request is not yet complete."""
        return self._part != "none"

    def _refuse(self) -> None:
        """Answer 431, then keep reading for a moment: else a client that still sends would not see
        the response."""
        if self._part != "head" or self._is_answering:
            self.transport.abort()
            return
        self._is_refused = True
        self.transport.write(TOO_LARGE)
        self.transport.write_eof()

    def _watch(self) -> None:
        """On a change of state, restart the timer and count the connection as waiting or
        working."""
        state = self._state_now(), self._requests
        if state == self._state:
            return
        self._state = state
        self._stop_timer()
        if state[0] == "answering":
            self._connections.works(self)
        else:
            self._connections.waits(self)
            self._start_timer()

    def _state_now(self) -> State:
        if self._is_refused or self.transport.is_closing():
            return "closing"
        if self.flow.write_paused:
            return "unread"
        if self._part != "none":
            return self._part
        return "answering" if self._is_answering else "idle"

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _start_timer(self) -> None:
        bounds = self._bounds
        # An idle connection has longer than uvicorn's own timeout, which closes cleanly.
        seconds = {
            "head": bounds.head_s,
            "body": bounds.body_s,
            "unread": bounds.unread_s,
            "idle": self.timeout_keep_alive + bounds.closing_s,
            "closing": bounds.closing_s,
        }
        self._timer = self.loop.call_later(seconds[self._state[0]], self._end)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        """Abort the connection, unless the server itself has paused reading."""
        if self.is_incomplete and self.flow.read_paused and not self.transport.is_closing():
            self._start_timer()
        else:
            self.transport.abort()
