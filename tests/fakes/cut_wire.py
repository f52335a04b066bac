"""A wire to Redis that dies with its process, at a request chosen beforehand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from redis.asyncio import ConnectionPool
from redis.asyncio.connection import Connection
from redis.exceptions import ResponseError

from bot.clock import DAY_S
from bot.store import Store
from bot.store.clients import read_script
from bot.store.files import FILES_BYTES
from bot.store.live import Live
from bot.store.server import Command, Request, Server
from tests.scripts import SCRIPT_NAMES

TOTALS = "totals"  # a transaction on the counters of a day
JOIN = "join"  # a record that takes entries of the inbox into the turn
REOPEN = "reopen"  # a transaction that goes on with a committed turn
# Beside whatever is done, which does not wait for them.
UNCOUNTED = ("renew", "limits.count", TOTALS)
READS = ("due", "HGET", "LINDEX", "LRANGE", "XRANGE")  # change nothing
HISTORY_S = 30 * DAY_S
SCRIPTS = {read_script(name, HISTORY_S).text: name for name in SCRIPT_NAMES}

Notify = Callable[[str], Awaitable[None]]
Result = TypeVar("Result")


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
    """Passes a process's requests on one by one, until the cut; then nothing passes any more.

    Args:
        notify: told each request's name when the server has carried it out, before its answer goes
            back.

    Attributes:
        requests: the names of those that count, in the order they came.
        is_cut: set at the cut. Nobody is told of it: whoever waits for an answer waits until the
            wire is dropped.
    """

    def __init__(self, server: str, cut: Cut, notify: Notify) -> None:
        self.requests: list[str] = []
        self.is_cut = asyncio.Event()
        self._server = server
        self._cut = cut
        self._notify = notify
        self._dropped = asyncio.Event()

    @asynccontextmanager
    async def open(self, live: Live | None = None) -> AsyncIterator[Store]:
        """The process's store; afterwards the server has carried out whatever has reached it.

        Args:
            live: hears what is told beside the process's work.
        """
        clients = [_Client(self, self._server) for _ in range(2)]
        client, priority = clients
        try:
            yield Store(client, priority, live or Live(client), HISTORY_S, FILES_BYTES)
        finally:
            self.drop()
            for one in clients:
                await one.aclose()

    def drop(self) -> None:
        """Refuse whoever still tries."""
        self._dropped.set()

    async def passes(self, command: Command) -> bool:
        """Whether a request reaches the server; one that does not is without an answer."""
        name, cut = _name_of(command), self._cut
        is_counted = name not in (UNCOUNTED + READS if cut.carried_out else UNCOUNTED)
        is_last = False
        if is_counted and not self.is_cut.is_set():
            self.requests.append(name)
            is_last = len(self.requests) == cut.request
        if is_last:
            self.is_cut.set()
        is_open = not (self.is_cut.is_set() or self._dropped.is_set())
        return is_open or (is_last and cut.carried_out)

    async def carry_out(self, command: Command, exchange: Coroutine[Any, Any, Any]) -> Any:
        """The answer to a request, which is carried out also where the process dies meanwhile."""
        return await finish(self._ask(command, exchange))

    async def _ask(self, command: Command, exchange: Coroutine[Any, Any, Any]) -> Any:
        [(_, [reply])] = await exchange
        if not isinstance(reply, ResponseError):
            await self._notify(_name_of(command))
        return reply

    async def end(self) -> None:
        """Wait for an answer that never comes."""
        await self._dropped.wait()
        raise ConnectionError("the wire is cut")


class _Client(Server):
    """A client whose requests go over the wire."""

    def __init__(self, wire: CutWire, url: str) -> None:
        pool = ConnectionPool.from_url(url, max_connections=10, protocol=2, driver_info=None)
        super().__init__(connection_pool=pool)
        self.auto_close_connection_pool = True
        self._wire = wire

    async def _exchange(
        self, connection: Connection, batch: list[Request]
    ) -> list[tuple[Request, list[Any]]]:
        answered = []
        for request in batch:
            replies = []
            for command in request.commands:
                if not await self._wire.passes(command):
                    await self._wire.end()
                one = request._replace(commands=[command])
                exchange = super()._exchange(connection, [one])
                replies.append(await self._wire.carry_out(command, exchange))
                if self._wire.is_cut.is_set():
                    await self._wire.end()
            answered.append((request, replies))
        return answered


async def finish(doing: Coroutine[Any, Any, Result]) -> Result:
    """Do something to its end, also where the process that waits for it dies meanwhile."""
    task = asyncio.create_task(doing)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _name_of(command: Command) -> str:
    words = [word for word in command if isinstance(word, str)]
    if any(":totals:" in word for word in words):
        return TOTALS
    name = str(command[0])
    if name == "EVAL":
        name = SCRIPTS.get(words[1], name)
    if name == "record" and JOIN in words:
        return JOIN
    if name == "transaction" and "reopened" in words:
        return REOPEN
    return name
