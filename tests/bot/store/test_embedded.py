"""The bundled Valkey's life: one server per data directory, as long as its owner, whoever is
killed."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from redis import RedisError
from redis.asyncio import Redis

from bot.errors import SettingsError, StoreUnavailable
from bot.store.embedded import Part, open_embedded
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


async def test_the_server_ends_with_its_owner(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("part", ["connects", "may own"])
async def test_others_connect_while_it_runs(tmp_path: Path, part: Part) -> None:
    """They leave it running."""
    async with open_embedded(tmp_path) as url:
        pid = await pid_of(url)
        async with open_embedded(tmp_path, part) as other:
            assert other == url
        assert await pid_of(url) == pid


async def test_a_second_owner_is_refused(tmp_path: Path) -> None:
    """In one line, with what to do."""
    async with user(tmp_path) as owner:
        with pytest.raises(SettingsError, match=r"^KAIWA_DATA_DIR: another Kaiwa runs with .*stop"):
            async with open_embedded(tmp_path):
                pass  # pragma: no cover
        await pid_of(owner.url)
        await owner.leave()


async def test_who_may_not_own_learns_that_nothing_runs(tmp_path: Path) -> None:
    """Nothing is started."""
    with pytest.raises(StoreUnavailable, match="no Kaiwa runs with") as refused:
        async with open_embedded(tmp_path, "connects"):
            pass  # pragma: no cover
    assert refused.value.fix.startswith("start kaiwa run")
    assert not (tmp_path / "appendonlydir").exists()


async def test_who_may_own_owns_where_nobody_does(tmp_path: Path) -> None:
    """A chat alone needs nothing that runs."""
    async with open_embedded(tmp_path, "may own") as url:
        pid = await pid_of(url)
    assert has_ended(pid)


@pytest.mark.parametrize("frozen", [False, True], ids=["", "frozen"])
async def test_the_next_owner_replaces_a_server_that_was_left(tmp_path: Path, frozen: bool) -> None:
    """After a kill of its owner, also where it no longer answers: no second server touches its
    files, and the data is there."""
    async with user(tmp_path) as killed:
        pid = await pid_of(killed.url)
        await write(killed.url, "for later")
        await killed.die()
    if frozen:
        os.kill(pid, signal.SIGSTOP)
    async with open_embedded(tmp_path) as url:
        assert has_ended(pid)
        assert url == killed.url
        assert await read(url) == b"for later"
        pid = await pid_of(url)
    assert has_ended(pid)


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
    """Under the same URL, with its data, and again each time."""
    async with open_embedded(tmp_path) as url:
        await write(url, "for later")
        for _ in range(2):
            pid = await pid_of(url)
            os.kill(pid, signal.SIGKILL)
            await ended(pid)
            assert await pid_again(url) != pid
        assert await read(url) == b"for later"


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


async def test_a_frozen_server_is_killed_by_its_owner(tmp_path: Path) -> None:
    """It handles no other signal, and no process may be left."""
    async with open_embedded(tmp_path) as url:
        pid = await pid_of(url)
        os.kill(pid, signal.SIGSTOP)
    assert has_ended(pid)
