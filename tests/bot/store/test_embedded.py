"""The bundled Valkey's life: one server per data directory, from the first user to the last, whoever is killed."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import stat
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

import pytest
from redis.asyncio import Redis

from bot.errors import SettingsError, StoreUnavailable
from bot.store.embedded import embedded
from bot.store.server import Server, take
from tests.house import ROOT

USER = """
import asyncio, sys
from pathlib import Path
from bot.store.embedded import embedded

async def main():
    async with embedded(Path(sys.argv[1])) as url:
        print(url, flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


class User:
    """Another process that uses the server until it is told to leave."""

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
        sys.executable, "-c", USER, data_dir, stdin=PIPE, stdout=PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)}
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
    async with asyncio.timeout(10):
        while not has_ended(pid):
            await asyncio.sleep(0.01)


def has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def write(url: str, value: str) -> None:
    async with Redis.from_url(url) as redis:
        await redis.set("kept", value, ex=60)


async def read(url: str) -> bytes | None:
    async with Redis.from_url(url) as redis:
        value: bytes | None = await redis.get("kept")
        return value


async def test_the_server_ends_with_its_only_user(tmp_path: Path) -> None:
    """No process, no socket and no folder is left, and the data comes back."""
    async with embedded(tmp_path / "data") as url:
        pid = await pid_of(url)
        await write(url, "for later")
    assert has_ended(pid)
    assert not Path(unquote(url.removeprefix("unix://"))).parent.exists()
    async with embedded(tmp_path / "data") as url:
        assert await pid_of(url) != pid
        assert await read(url) == b"for later"


async def test_the_server_is_set_up_to_keep_what_it_is_given(tmp_path: Path) -> None:
    """Appending to its file, refusing rather than evicting, reachable by its owner alone, outside our session."""
    async with embedded(tmp_path) as url, Redis.from_url(url) as redis:
        wanted = {
            "appendonly": "yes",
            "appendfsync": "everysec",
            "maxmemory": str(64 * 2**20),
            "maxmemory-policy": "noeviction",
            "port": "0",
            "save": "",
        }
        assert await redis.config_get(*wanted) == wanted
        socket = Path(unquote(url.removeprefix("unix://")))
        assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(socket.stat().st_mode) == 0o700
        pid = await pid_of(url)
        assert os.getsid(pid) == pid
    assert "Ready to accept connections" in (tmp_path / "valkey.log").read_text()


async def test_two_users_share_a_server_and_the_last_one_stops_it(tmp_path: Path) -> None:
    """Whether or not the last one started it."""
    async with user(tmp_path) as first, user(tmp_path) as second:
        assert first.url == second.url
        pid = await pid_of(first.url)
        await first.leave()
        assert await pid_of(second.url) == pid
        await second.leave()
        assert has_ended(pid)


async def test_one_process_may_use_it_twice(tmp_path: Path) -> None:
    """Each use counts."""
    async with embedded(tmp_path) as url:
        pid = await pid_of(url)
        async with embedded(tmp_path) as again:
            assert again == url
        assert await pid_of(url) == pid
    assert has_ended(pid)


async def test_users_who_start_at_once_get_one_server(tmp_path: Path) -> None:
    """Nobody starts a second one on the same files."""
    async with user(tmp_path) as first, user(tmp_path) as second, user(tmp_path) as third:
        pids = {await pid_of(one.url) for one in (first, second, third)}
        assert len(pids) == 1
        for one in (first, second, third):
            await one.leave()
        assert has_ended(pids.pop())


async def test_a_killed_user_is_no_user(tmp_path: Path) -> None:
    """The server outlives the one who started it, and goes with the last one who is left."""
    async with user(tmp_path) as first, user(tmp_path) as second:
        pid = await pid_of(first.url)
        await first.die()
        assert await pid_of(second.url) == pid
        await second.leave()
        await ended(pid)


async def test_a_server_left_alone_is_attached_to(tmp_path: Path) -> None:
    """After the only user was killed, the next one finds server and data, and ends both properly."""
    async with user(tmp_path) as first:
        pid = await pid_of(first.url)
        await write(first.url, "for later")
        await first.die()
    async with user(tmp_path) as second:
        assert await pid_of(second.url) == pid
        assert await read(second.url) == b"for later"
        await second.leave()
    await ended(pid)


async def test_data_survives_when_all_are_killed(tmp_path: Path) -> None:
    """Neither a stale socket nor a stale process id is in the way."""
    async with user(tmp_path) as first:
        pid = await pid_of(first.url)
        await write(first.url, "for later")
        await first.die()
    os.kill(pid, signal.SIGKILL)
    await ended(pid)
    assert Path(unquote(first.url.removeprefix("unix://"))).exists()
    async with user(tmp_path) as second:
        assert await read(second.url) == b"for later"
        await second.leave()


async def test_a_killed_server_is_started_again(tmp_path: Path) -> None:
    """Under the same URL, with its data, once although two users notice, and again each time."""
    async with embedded(tmp_path) as url, user(tmp_path) as other:
        await write(url, "for later")
        for _ in range(2):
            pid = await pid_of(url)
            os.kill(pid, signal.SIGKILL)
            await ended(pid)
            assert await pid_again(url) != pid
        assert await read(url) == b"for later"
        await other.leave()
        pid = await pid_of(url)
    await ended(pid)


async def pid_again(url: str) -> int:
    """The server's process, as soon as there is one."""
    async with asyncio.timeout(10):
        while True:
            with suppress(OSError, StoreUnavailable, ConnectionError):
                return await pid_of(url)


async def test_a_server_that_cannot_start_again_is_tried_until_it_can(tmp_path: Path) -> None:
    """A full disk, for example: here its files are in the way for a while."""
    files = tmp_path / "appendonlydir"
    async with embedded(tmp_path) as url:
        pid = await pid_of(url)
        files.rename(tmp_path / "aside")
        files.touch()
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(10):
            while "appendonlydir" not in (tmp_path / "valkey.log").read_text().splitlines()[-1]:
                await asyncio.sleep(0.01)
        files.unlink()
        (tmp_path / "aside").rename(files)
        assert await pid_again(url) != pid


async def test_a_frozen_server_is_killed_by_the_last_user(tmp_path: Path) -> None:
    """It would hear no other word, and no process may be left."""
    async with embedded(tmp_path) as url:
        pid = await pid_of(url)
        os.kill(pid, signal.SIGSTOP)
    assert has_ended(pid)


async def test_a_frozen_server_keeps_others_off_its_files(tmp_path: Path) -> None:
    """Whoever comes then is told, after some patience; a second server would ruin the data."""
    async with embedded(tmp_path) as url:
        pid = await pid_of(url)
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(StoreUnavailable, match=r"valkey\.log"):
                await Server(tmp_path, patience_s=0.2).start()
        finally:
            os.kill(pid, signal.SIGCONT)
        assert await pid_of(url) == pid


@pytest.mark.parametrize("name", ["x" * 200, "with space and 'quotes'", "会話のデータ", "per%cent"])
async def test_any_path_will_do(tmp_path: Path, name: str) -> None:
    """The socket lies elsewhere, so neither length nor characters matter."""
    data_dir = tmp_path / name / "deep" / "down"
    async with embedded(data_dir) as url:
        await write(url, "x")
        assert await read(url) == b"x"
    assert (data_dir / "appendonlydir").is_dir()


async def test_a_relative_path_is_the_same_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ways to write a directory are one directory."""
    monkeypatch.chdir(tmp_path)
    async with embedded(Path("data")) as one, embedded(tmp_path / "." / "data") as two:
        assert one == two


async def test_a_directory_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    """One sentence, with the variable to mend."""
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match=r"^KAIWA_DATA_DIR: cannot be written \(Not a directory\)"):
        async with embedded(tmp_path / "file" / "data"):
            pass  # pragma: no cover


async def test_files_that_cannot_be_used_stop_the_start(tmp_path: Path) -> None:
    """With the server's own last word, and nothing is left running."""
    (tmp_path / "appendonlydir").touch()
    with pytest.raises(SettingsError, match=r"^KAIWA_DATA_DIR: .*appendonlydir"):
        async with embedded(tmp_path):
            pass  # pragma: no cover
    with (tmp_path / "server.lock").open("ab") as lock:
        assert take(lock)


async def test_a_machine_without_a_bundled_server_needs_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mend is to name a Redis."""
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    with pytest.raises(SettingsError, match="^REDIS_URL: "):
        async with embedded(tmp_path):
            pass  # pragma: no cover


async def test_a_socket_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    """Whoever prepared it could listen to every conversation."""
    folder = Path(unquote(Server(tmp_path).url.removeprefix("unix://"))).parent
    folder.mkdir()
    folder.chmod(0o755)
    try:
        with pytest.raises(SettingsError, match=f"^TMPDIR: {folder.name} there is open to others"):
            async with embedded(tmp_path):
                pass  # pragma: no cover
    finally:
        folder.rmdir()


@pytest.mark.parametrize(("temporary", "complaint"), [("x" * 90, "too long"), ("missing", "cannot be written")])
async def test_a_useless_temporary_directory_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, temporary: str, complaint: str
) -> None:
    """A socket needs a short path in a place that exists."""
    monkeypatch.setattr(tempfile, "tempdir", f"/{temporary}")
    with pytest.raises(SettingsError, match=f"^TMPDIR: .*{complaint}"):
        async with embedded(tmp_path):
            pass  # pragma: no cover
