"""uvicorn in this event loop, and signals on which the whole process drains and ends with exit code 0."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial

import uvicorn
from starlette.types import ASGIApp

from bot.errors import SettingsError
from bot.web.connections import Bounds, Connection, Connections

GRACE_S = 2  # for requests in flight when the server stops


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Catch none: uvicorn would raise a caught signal again at its end, which sets the exit code."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """Bind the address, before anything else starts.

    Raises:
        SettingsError: the port is in use, or the host is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio then sends without delay
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(2048)
    except OSError as error:
        sock.close()
        variable = "HOST" if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL else "PORT"
        raise SettingsError(variable, f"cannot listen on {host}:{port} ({error.strerror}); choose another") from error
    sock.setblocking(False)
    return sock


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
async def serving(app: ASGIApp, sock: socket.socket, bounds: Bounds | None = None) -> AsyncIterator[Serving]:
    config = uvicorn.Config(
        app,
        http=partial(Connection, Connections(bounds or Bounds())),  # type: ignore[arg-type]  # it is only called
        ws="none",
        log_config=None,
        log_level="error",  # a malformed request is not worth a log line
        access_log=False,
        lifespan="off",
        proxy_headers=False,  # any program on this machine could forge an address
        timeout_graceful_shutdown=GRACE_S,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[sock]))
    try:
        yield Serving(task)
    finally:
        server.should_exit = True
        await task


@dataclass(frozen=True, slots=True)
class Orders:
    """Events set by signals: the first signal sets ``stop``, the second ``hurry``."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    hurry: asyncio.Event = field(default_factory=asyncio.Event)

    def again(self) -> None:
        """Handle a signal; those after the second change nothing."""
        (self.hurry if self.stop.is_set() else self.stop).set()


@contextmanager
def stop_signals() -> Iterator[Orders]:
    """Handle SIGTERM and SIGINT while the context is open."""
    orders = Orders()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, orders.again)
    try:
        yield orders
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
