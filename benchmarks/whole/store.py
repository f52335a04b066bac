"""Redis beside a benchmark: one bundled Valkey or a cluster of them, and what they are asked."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import urlsplit

from redis.asyncio import Redis

from benchmarks.whole.processes import cpu_s
from bot.store.embedded import open_embedded
from tests.fixtures_store import redis_server

OWN = ("info", "config|set", "dbsize")  # commands of the benchmark itself


class Proxy:
    """A way to Redis that counts what is written to it. At one turn at a time a write is a request
    that awaits.

    Attributes:
        writes: from the measured process to Redis.
        sent: bytes of these.
        received: bytes of the answers.
    """

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self.writes = self.sent = self.received = 0

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass a connection on, both ways."""
        theirs, ours = await asyncio.open_unix_connection(self._socket)

        async def answer() -> None:
            while data := await theirs.read(1 << 16):
                self.received += len(data)
                writer.write(data)
            writer.close()

        answering = asyncio.create_task(answer())
        with suppress(ConnectionError):  # the measured process is killed in the end
            while data := await reader.read(1 << 16):
                self.writes += 1
                self.sent += len(data)
                ours.write(data)
        ours.close()
        await answering


class Asked(NamedTuple):
    """Counters of the store, from its start on.

    Attributes:
        writes, sent, received: counted by the proxy, 0 without one.
        commands: that Redis ran, those inside scripts included, the scripts themselves not.
        scripts: that Redis ran.
    """

    writes: float
    sent: float
    received: float
    commands: float
    scripts: float


@dataclass(slots=True)
class Store:
    """The store of a benchmark.

    Attributes:
        url: for the measured process.
        nodes: each server, reached past the proxy.
        pids: of the servers.
    """

    url: str
    nodes: Sequence[Redis]
    pids: Sequence[int]
    proxy: Proxy | None = None

    async def asked(self) -> Asked:
        """The counters now."""
        calls: dict[str, int] = {}
        for node in self.nodes:
            for name, stats in (await node.info("commandstats")).items():
                command = name.removeprefix("cmdstat_")
                calls[command] = calls.get(command, 0) + int(stats["calls"])
        scripts = sum(calls.get(name, 0) for name in ("eval", "evalsha", "fcall"))
        commands = sum(calls.values()) - scripts - sum(calls.get(name, 0) for name in OWN)
        counted = (
            (self.proxy.writes, self.proxy.sent, self.proxy.received) if self.proxy else (0, 0, 0)
        )
        return Asked(*counted, commands, scripts)

    def cpu_s(self) -> list[float]:
        """CPU seconds of each node."""
        return [cpu_s([pid]) for pid in self.pids]

    async def used_bytes(self) -> int:
        """Memory of the data, all nodes together."""
        return sum([int((await node.info("memory"))["used_memory"]) for node in self.nodes])


@asynccontextmanager
async def one_server(*, counted: bool = True, large: bool = False) -> AsyncIterator[Store]:
    """A bundled Valkey without its limit of memory.

    Args:
        counted: put a proxy before it, which counts bytes and requests and costs the benchmark CPU.
        large: it gets more data than the bundled Valkey holds in practice: where ``redis-server``
            is installed, that.
    """
    async with AsyncExitStack() as stack:
        if large and shutil.which("redis-server"):
            url = stack.enter_context(
                redis_server("--appendonly", "yes", "--appendfsync", "everysec")
            )
        else:
            url = await stack.enter_async_context(
                open_embedded(Path(stack.enter_context(TemporaryDirectory())))
            )
        redis = await stack.enter_async_context(Redis.from_url(url))
        await redis.config_set("maxmemory", 0)
        store = Store(url, [redis], [(await redis.info("server"))["process_id"]])
        if counted:
            store.proxy = Proxy(urlsplit(url).path)
            server = await asyncio.start_server(store.proxy.connect, "127.0.0.1", 0)
            stack.callback(server.close)
            store.url = f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield store
