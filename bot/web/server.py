"""uvicorn in this event loop, with signals that let the whole process drain and end with exit code 0."""

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

LAST_ANSWERS_S = 2  # for requests in flight when the server stops


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """uvicorn raises a caught signal again at its end, which would make it the exit code; ours are handled here."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """Take the address before anything else starts.

    Raises:
        SettingsError: the port is busy, or the host is not ours.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
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
    """A server at work."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    async def wait_until_ended(self) -> None:
        """Wait until it serves no more.

        Raises:
            Exception: why it has ended by itself.
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
        log_level="error",  # a stranger's broken request is no line of the log
        access_log=False,
        lifespan="off",
        proxy_headers=False,  # whoever is on this machine could name any address as theirs
        timeout_graceful_shutdown=LAST_ANSWERS_S,
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
    """What the signals so far have ordered: to stop, then to be quick about it."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    hurry: asyncio.Event = field(default_factory=asyncio.Event)

    def again(self) -> None:
        """Take one more signal; those after the second change nothing."""
        (self.hurry if self.stop.is_set() else self.stop).set()


@contextmanager
def stop_signals() -> Iterator[Orders]:
    """Take SIGTERM and SIGINT as orders while the context is open."""
    orders = Orders()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, orders.again)
    try:
        yield orders
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
