"""uvicorn in this event loop, and signals on which the whole process drains and ends with exit code
0."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial

import uvicorn
from starlette.types import ASGIApp

from bot.tasks import run_beside
from bot.web.connections import Bounds, Connection, Connections, watched

# Requests in flight have so long when the server stops.
GRACE_S = 2


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Catch none: uvicorn would raise a caught signal again at its end, which sets the exit
        code."""
        yield


@asynccontextmanager
async def serving(
    app: ASGIApp, sock: socket.socket, bounds: Bounds | None = None
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Serve requests while the context is open; yields what waits until the server has ended, and
    raises the error that has ended it."""
    connections = Connections(bounds or Bounds())
    config = uvicorn.Config(
        watched(app),
        # The function is only called.
        http=partial(Connection, connections),  # type: ignore[arg-type]
        ws="none",
        log_config=None,
        # A malformed request is not worth a log line.
        log_level="error",
        access_log=False,
        lifespan="off",
        # Any program on this machine could forge an address.
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[sock]))
    async with run_beside(connections.close_late()):
        try:
            yield partial(asyncio.shield, task)
        finally:
            server.should_exit = True
            await task


@dataclass(frozen=True, slots=True)
class Orders:
    """Events set by signals: the first signal sets ``stop``, the second ``hurry``.

    Attributes:
        alone: set when the link to the supervisor has ended.
    """

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    alone: asyncio.Event = field(default_factory=asyncio.Event)

    def leave_alone(self, link: socket.socket) -> None:
        """Handle the end of the link."""
        asyncio.get_running_loop().remove_reader(link)
        self.stop.set()
        self.alone.set()

    async def wait_until_alone(self) -> None:
        """Wait until the other members have ended; not where this one ends without an order."""
        if self.stop.is_set():
            await self.alone.wait()

    def again(self) -> None:
        """Handle a signal; those after the second change nothing."""
        (self.hurry if self.stop.is_set() else self.stop).set()

    def at_once(self) -> None:
        self.stop.set()
        self.hurry.set()


@contextmanager
def stop_signals(link: socket.socket | None = None) -> Iterator[Orders]:
    """Handle SIGTERM, SIGINT and SIGHUP while the context is open.

    Args:
        link: of a member, to its supervisor. A member may get SIGTERM twice, from the supervisor
            and from the platform: only SIGINT hurries it. The end of the link is an order too.
    """
    orders = Orders()
    loop = asyncio.get_running_loop()
    handlers = dict.fromkeys((signal.SIGTERM, signal.SIGHUP, signal.SIGINT), orders.again)
    if link:
        stop = orders.stop.set
        handlers = {signal.SIGTERM: stop, signal.SIGHUP: stop, signal.SIGINT: orders.at_once}
        loop.add_reader(link, orders.leave_alone, link)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        # nohup has switched it off.
        handlers.pop(signal.SIGHUP)
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield orders
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
        if link:
            loop.remove_reader(link)
