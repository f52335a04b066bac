"""The bundled Valkey's life: one server per data directory, from the first user to the last,
whoever is killed."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

from redis import RedisError
from redis.asyncio import Redis

from bot.store.embedded import open_embedded
from tests.bot.store.processes import (
    ended,
    has_ended,
    mode_of,
    pid_of,
    read,
    socket_of,
    user,
    write,
)
from tests.waiting import until


async def test_the_server_ends_with_its_only_user(tmp_path: Path) -> None:
    """No process, no socket and no folder is left, and the data comes back."""
    async with open_embedded(tmp_path / "data") as url:
        pid = await pid_of(url)
        await write(url, "for later")
    assert has_ended(pid)
    assert not socket_of(url).parent.exists()
    async with open_embedded(tmp_path / "data") as url:
        assert await pid_of(url) != pid
        assert await read(url) == b"for later"


async def test_the_server_is_set_up_to_keep_what_it_is_given(tmp_path: Path) -> None:
    """Appending to its file, refusing rather than evicting, reachable by its owner alone, outside
    our session."""
    async with open_embedded(tmp_path) as url, Redis.from_url(url) as redis:
        wanted = {
            "appendonly": "yes",
            "appendfsync": "everysec",
            "maxmemory": str(64 * 2**20),
            "maxmemory-policy": "noeviction",
            "port": "0",
            "save": "",
        }
        assert await redis.config_get(*wanted) == wanted
        assert mode_of(socket_of(url)) == mode_of(socket_of(url).parent) == 0o700
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
    async with open_embedded(tmp_path) as url:
        pid = await pid_of(url)
        async with open_embedded(tmp_path) as again:
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
    """After the only user was killed, the next one finds server and data, and ends both
    properly."""
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
    assert mode_of(socket_of(first.url))  # it is still there
    async with user(tmp_path) as second:
        assert await read(second.url) == b"for later"
        await second.leave()


async def test_a_killed_server_is_started_again(tmp_path: Path) -> None:
    """Under the same URL, with its data, once although two users notice, and again each time."""
    async with open_embedded(tmp_path) as url, user(tmp_path) as other:
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
            with suppress(RedisError):
                return await pid_of(url)


async def test_a_server_that_cannot_start_again_is_tried_until_it_can(tmp_path: Path) -> None:
    """A full disk, for example: here its files are in the way for a while."""
    files = tmp_path / "appendonlydir"
    async with open_embedded(tmp_path) as url:
        pid = await pid_of(url)
        files.rename(tmp_path / "aside")
        files.touch()
        os.kill(pid, signal.SIGKILL)
        await until(
            lambda: "appendonlydir" in (tmp_path / "valkey.log").read_text().splitlines()[-1]
        )
        files.unlink()
        (tmp_path / "aside").rename(files)
        assert await pid_again(url) != pid


async def test_a_frozen_server_is_killed_by_the_last_user(tmp_path: Path) -> None:
    """It would hear no other word, and no process may be left."""
    async with open_embedded(tmp_path) as url:
        pid = await pid_of(url)
        os.kill(pid, signal.SIGSTOP)
    assert has_ended(pid)
