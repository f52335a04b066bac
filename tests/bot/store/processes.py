"""Servers and their users as processes: found, asked, waited for."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from redis.asyncio import Redis

from tests.project import ROOT
from tests.waiting import until

USER = """
import asyncio, sys
from pathlib import Path
from bot.store.embedded import open_embedded

async def main():
    async with open_embedded(Path(sys.argv[1])) as url:
        print(url, flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


class User:
    """Another process that uses the server until it gets a line of input."""

    def __init__(self, process: Process, url: str) -> None:
        self.process = process
        self.url = url

    async def leave(self) -> None:
        """End as a program ends."""
        await self.process.communicate(b"\n")
        assert self.process.returncode == 0

    async def die(self) -> None:
        """End without a chance to clean up."""
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def user(data_dir: Path) -> AsyncIterator[User]:
    """A user that is killed at the end, if it still lives."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        USER,
        data_dir,
        stdin=PIPE,
        stdout=PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    try:
        yield User(process, (await process.stdout.readline()).decode().strip())
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def pid_of(url: str) -> int:
    """The server's process."""
    async with Redis.from_url(url) as redis:
        return int((await redis.info("server"))["process_id"])


async def ended(pid: int) -> None:
    """Wait until a process has ended, by itself or as a zombie nobody has fetched yet."""
    await until(lambda: has_ended(pid))


def has_ended(pid: int) -> bool:
    """Whether the process is gone, or a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def write(url: str, value: str) -> None:
    """Put something into the server."""
    async with Redis.from_url(url) as redis:
        await redis.set("kept", value, ex=60)


async def read(url: str) -> bytes | None:
    """What was put there."""
    async with Redis.from_url(url) as redis:
        return cast(bytes | None, await redis.get("kept"))


def socket_of(url: str) -> Path:
    """The path in the URL."""
    return Path(unquote(url.removeprefix("unix://")))


def mode_of(path: Path) -> int:
    """Who may do what with it."""
    return stat.S_IMODE(path.stat().st_mode)
