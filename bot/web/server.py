"""uvicorn in this event loop, and signals on which the whole process drains and ends with exit code
0."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
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


class Serving:
    """A running server."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    async def wait_until_ended(self) -> None:
        """Wait until the server has ended.

        Raises:
            Exception: the error that has ended it.
        """
        await asyncio.wait({self._task})
        self._task.result()


@asynccontextmanager
async def serving(
    app: ASGIApp, sock: socket.socket, bounds: Bounds | None = None
) -> AsyncIterator[Serving]:
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
            yield Serving(task)
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
def stop_signals() -> Iterator[Orders]:
    """Handle SIGTERM, SIGINT and SIGHUP while the context is open."""
    orders = Orders()
    with _handled(
        {signal.SIGTERM: orders.again, signal.SIGINT: orders.again, signal.SIGHUP: orders.again}
    ):
        yield orders


@contextmanager
def supervisors_orders(link: socket.socket) -> Iterator[Orders]:
    """Handle a supervisor's signals, and the end of the link to it (``bot.supervisor``), while the
    context is open."""
    orders = Orders()
    loop = asyncio.get_running_loop()

    def end() -> None:
        loop.remove_reader(link)
        orders.stop.set()
        orders.alone.set()

    loop.add_reader(link, end)
    try:
        stop = orders.stop.set
        with _handled({signal.SIGTERM: stop, signal.SIGHUP: stop, signal.SIGINT: orders.at_once}):
            yield orders
    finally:
        loop.remove_reader(link)


@contextmanager
def _handled(handlers: Mapping[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    """Handle signals, apart from a SIGHUP that ``nohup`` has switched off."""
    loop = asyncio.get_running_loop()
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        handlers = dict(handlers)
        handlers.pop(signal.SIGHUP, None)
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
