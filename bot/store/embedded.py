"""The Valkey that comes with Kaiwa: one server per data directory, shared by all processes that use the directory.

``users.lock`` is held, shared, by every process while it uses the server; whoever gets it alone is the last one and
shuts the server down. ``start.lock`` is held for as long as a process comes, goes, or starts the server again. A killed
process lets go of its locks, so nothing has to be cleaned up after it.
"""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO

import structlog

from bot.errors import KaiwaError
from bot.store.private import private_file, private_folder
from bot.store.rewriting import finish_rewriting, keep_rewriting
from bot.store.server import Server, hold_lock, try_lock, wait_for_lock
from bot.tasks import run_beside

log = structlog.stdlib.get_logger(__name__)

RESTART_S = 1.0
FILES = ("users.lock", "start.lock", "server.lock", "valkey.log")


@asynccontextmanager
async def open_embedded(data_dir: Path) -> AsyncIterator[str]:
    """The server of a data directory: the first process starts it, the last one stops it.

    Yields:
        Its URL. Should the server die, it is started again under the same one.

    Raises:
        SettingsError: it cannot work here, with the variable to fix.
        StoreUnavailable: it runs, and does not answer.
    """
    home = private_folder(data_dir)
    for name in FILES:
        private_file(home / name)
    server = Server(home)
    start_lock = home / "start.lock"
    with (home / "users.lock").open("ab") as users:
        try:
            async with hold_lock(start_lock):
                await wait_for_lock(users, fcntl.LOCK_SH)
                await server.start()
            async with run_beside(_keep_alive(server, start_lock)), keep_rewriting(server.url):
                yield server.url
        finally:
            await _leave(server, start_lock, users)


async def _leave(server: Server, start_lock: Path, users: IO[bytes]) -> None:
    async with hold_lock(start_lock):
        if try_lock(users):
            await finish_rewriting(server.url)
            await server.stop()
        else:
            server.leave()


async def _keep_alive(server: Server, start_lock: Path) -> None:
    while True:
        await server.wait_until_ended()
        log.warning("valkey.ended")
        try:
            async with hold_lock(start_lock):
                await server.start()
        except KaiwaError as error:
            log.error("valkey.not_started", cause=str(error))
            await asyncio.sleep(RESTART_S)
