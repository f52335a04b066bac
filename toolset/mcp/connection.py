"""One server: connected, listed, followed, and connected again after a failure. Nothing waits for
it."""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import anyio

from toolset.mcp.answer import Answer
from toolset.mcp.catalog import BEGINNING, Catalog, make_catalog, shown
from toolset.mcp.config import ServerConfig
from toolset.mcp.pins import ListedTool, Pin, digests_of
from toolset.tool import ToolError
from toolset.tool_map import ToolMap

if TYPE_CHECKING:
    from toolset.mcp.session import Session

# A server may be downloaded first.
CONNECT_S = 60.0
LIST_S = 30.0
# A server that announces no changes is asked for its list so often.
REFRESH_S = 300.0
# The list is read more often while a tool waits for kaiwa tools accept.
REFRESH_SOON_S = 15.0
# Two looks have at least so many seconds between them, and so many times what a look took, however
# often a server announces changes.
SPACING_S, SPACING = 1.0, 10
# The next attempt to connect waits so long.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 60.0
# A connection that held so long begins the pauses anew.
STEADY_S = 60.0
# A call waits so long for a connection.
CALL_WAIT_S = 5.0
# A server with an address has so long to read that nobody will come back.
GOODBYE_S = 1.0
# A server that does not end is left behind after this time.
CLOSE_S = 7.0
CAUSE_CAP = 200
# The log names so many tools of a server at most.
MOST_LOGGED = 200
CLOSED = "closed"

log = logging.getLogger(__name__)


class McpServer:
    """The connection to one server.

    Args:
        tools: gets the server's tools, under its name.
        tls: for servers with an address.

    Attributes:
        catalog: the newest list; it stays while the server is away, and calls wait for it then.
        cause: why it is not connected; empty while it is.
        settled: the first attempt has ended, in a list or in a failure.
    """

    def __init__(self, config: ServerConfig, tools: ToolMap, pin: Pin, tls: ssl.SSLContext) -> None:
        self.name = config.name
        self.catalog = Catalog()
        self.has_more = False
        self.cause = "not connected yet"
        self.settled = asyncio.Event()
        self._config, self._tools, self._pin, self._tls = config, tools, pin, tls
        self._session: Session | None = None
        self._connected = asyncio.Event()
        self._changed = asyncio.Event()
        self._gone = asyncio.Event()
        self._closing = asyncio.Event()
        self._scope = anyio.CancelScope()
        self._calls = 0
        self._is_stale, self._listed_at = False, 0.0
        self._logged: set[tuple[str, str]] = set()
        # So the order of the servers is that of the file.
        tools.replace(self.name, ())
        tools.expect(config.prefix[:BEGINNING], self.settled)

    async def run(self) -> None:
        """Stay connected until ``end``."""
        pause = FIRST_PAUSE_S
        while not self._closing.is_set():
            began = time.monotonic()
            cause = await self._connect()
            if cause != self.cause and not self._closing.is_set():
                log.warning("mcp.disconnected", extra={"server": self.name, "cause": cause})
            self.cause = cause
            self.settled.set()
            if time.monotonic() - began > STEADY_S:
                pause = FIRST_PAUSE_S
            # The random number spreads attempts, and decides nothing.
            await _happens(self._closing, pause * random.uniform(0.5, 1))  # noqa: S311
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def end(self) -> None:
        """Have ``run`` end: the server is told, and ended if it is a process."""
        self._closing.set()
        if self._session is None:
            self._scope.cancel()
        else:
            self._scope.deadline = anyio.current_time() + GOODBYE_S
        self._lose()

    async def call(self, tool: ListedTool, arguments: dict[str, Any]) -> Answer:
        """Call a tool.

        Raises:
            ToolError: the server is away, or refuses, or lists the tool otherwise than when the
                call was allowed.
        """
        session = await self._wait_for_session()
        # The tool may need a yes now, which only a new call gets.
        if tool.digest not in self.catalog.made:
            raise ToolError(
                f"not called: {self.name} has changed this tool; call it again if it is still there"
            )
        asking = asyncio.create_task(session.call(tool.name, arguments))
        asking.add_done_callback(_ignore)
        self._calls += 1
        try:
            await asyncio.wait((asking,))
        finally:
            self._calls -= 1
            if self._is_stale and not self._calls:
                self._changed.set()
            # A call that is given up tells the server, which nobody waits for.
            asking.cancel()
        try:
            return asking.result()
        except ToolError:
            raise
        # Whatever the SDK raises, the connection is of no use.
        except Exception as error:  # noqa: BLE001
            log.info("mcp.call_lost", extra={"server": self.name, "cause": type(error).__name__})
            self._lose(session)
            raise ToolError(
                f"the connection to {self.name} broke: the outcome is unknown"
            ) from None

    async def _wait_for_session(self) -> Session:
        with suppress(TimeoutError):
            async with asyncio.timeout(CALL_WAIT_S):
                await self._connected.wait()
        if self._session is None:
            raise ToolError(
                f"the server {self.name} is not connected at the moment; try again later"
            )
        return self._session

    async def _connect(self) -> str:
        """Connect, and follow the list until the connection ends; why it did."""
        self._gone.clear()
        try:
            sdk = await asyncio.to_thread(_load_sdk)
            with anyio.CancelScope(deadline=anyio.current_time() + CONNECT_S) as self._scope:
                if self._closing.is_set():
                    return CLOSED
                async with sdk.open_session(
                    self._config, self._tls, self._changed.set, self._lose
                ) as session:
                    await self._follow(session)
        # A server, the network and the SDK may fail in any way.
        except Exception as error:  # noqa: BLE001
            return _cause(error)
        finally:
            self._session = None
            self._connected.clear()
        return CLOSED if self._closing.is_set() else "it gave no answer in time"

    async def _follow(self, session: Session) -> None:
        """Read the list, and again whenever it may have changed."""
        while not self._gone.is_set():
            self._changed.clear()
            began = time.monotonic()
            # A server that does one thing at a time is left alone during calls, unless they never
            # cease.
            self._is_stale = (
                bool(self._calls and self._session) and began - self._listed_at < 2 * REFRESH_S
            )
            if not self._is_stale:
                self._scope.deadline = anyio.current_time() + LIST_S
                await self._refresh(session)
            self._scope.deadline = float("inf")
            if self._session is None:
                self._settle(session)
            await _happens(self._gone, max(SPACING_S, SPACING * (time.monotonic() - began)))
            await _happens(self._changed, REFRESH_SOON_S if self.catalog.changed else REFRESH_S)
        if not self._closing.is_set():
            raise ConnectionError("the server closed the connection")

    def _settle(self, session: Session) -> None:
        """Let calls use the session."""
        self._session, self.cause = session, ""
        self._connected.set()
        self.settled.set()
        counts = {"tools": len(self.catalog.made), "left_out": len(self.catalog.left_out)}
        log.info("mcp.connected", extra={"server": self.name, **counts})

    async def _refresh(self, session: Session) -> None:
        listing = await session.read_tools()
        self._listed_at, self.has_more = time.monotonic(), listing.has_more
        pins = await self._pin(self.name, await asyncio.to_thread(digests_of, listing.tools))
        old = self.catalog
        new = await asyncio.to_thread(
            make_catalog, self._config, listing.tools, pins, call=self.call, old=old
        )
        new = replace(new, left_out={**listing.malformed, **new.left_out})
        for name in self._unlogged(dict.fromkeys(new.changed, "")):
            log.warning("mcp.tool_changed", extra={"server": self.name, "tool": shown(name)})
        for name in self._unlogged(new.left_out):
            cause = new.left_out[name]
            log.warning(
                "mcp.tool_left_out",
                extra={"server": self.name, "tool": shown(name), "cause": cause},
            )
        self.catalog = new
        if new.tools != old.tools:
            self._tools.replace(self.name, new.tools)

    def _unlogged(self, causes: Mapping[str, str]) -> list[str]:
        """The tools of which this has not been logged; a server that thinks up names does not fill
        the log."""
        found = [name for name, cause in causes.items() if (name, cause) not in self._logged]
        found = found[: max(MOST_LOGGED - len(self._logged), 0)]
        self._logged.update((name, causes[name]) for name in found)
        return found

    def _lose(self, session: Session | None = None) -> None:
        """Have the connection made anew, unless that has happened since."""
        if session is None or session is self._session:
            self._session = None
            self._connected.clear()
            self._gone.set()
            self._changed.set()


@asynccontextmanager
async def open_servers(
    configs: Sequence[ServerConfig], tools: ToolMap, pin: Pin, tls: ssl.SSLContext
) -> AsyncIterator[list[McpServer]]:
    """Connect to servers in the background; on exit they are ended, side by side."""
    servers = [McpServer(config, tools, pin, tls) for config in configs]
    tasks = [asyncio.create_task(server.run()) for server in servers]
    try:
        yield servers
    finally:
        for server in servers:
            server.end()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _happens(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, or so long."""
    with anyio.move_on_after(seconds):
        await event.wait()


def _load_sdk() -> ModuleType:
    """The module that uses the SDK, which takes half a second to load: only where a server is
    named."""
    from toolset.mcp import session

    return session


def _ignore(asking: asyncio.Task[Answer]) -> None:
    """Look at the outcome, which nobody else may want any more."""
    if not asking.cancelled():
        asking.exception()


def _cause(error: BaseException) -> str:
    """The first cause of a failure, in a line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, OSError) and error.strerror:
        return shown(error.strerror, CAUSE_CAP)
    return shown(f"{type(error).__name__}: {error}".removeprefix("ConnectionError: "), CAUSE_CAP)
