"""The bundled Valkey's files: what was deleted leaves them soon, and not more often than they can
bear."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from redis.asyncio import Redis

from bot.store import Store, open_store
from bot.store.embedded import open_embedded
from bot.store.keys import kv_key
from bot.store.rewriting import SPACING_S
from tests.bot.store.processes import ended, pid_of, user
from tests.bot.store.turns import key, leased
from tests.waiting import until, until_true

HERE = "line:bot:user:u1"
SECRET = b"zebrafinch"


def held(folder: Path, word: bytes = SECRET) -> bool:
    """Whether some file holds a word; the server deletes some meanwhile."""
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            if path.is_file() and word in path.read_bytes():
                return True
    return False


async def forget_something(store: Store) -> None:
    """Something is said, and forgotten again."""
    lease = await leased(store, HERE)
    await store.journal.commit(lease, SECRET, [], keep_turns=1)
    await store.leases.forget(lease)
    await store.history.purge(lease)
    await store.leases.release(lease)


async def is_unmarked(redis: Redis) -> bool:
    return await redis.exists(key("forgotten", HERE)) == 0


async def test_what_was_forgotten_leaves_the_files(tmp_path: Path) -> None:
    """While the process runs, at once or when the last rewrite is long enough ago; other data
    stays."""
    async with (
        open_embedded(tmp_path) as url,
        open_store(url, history_days=1) as store,
        Redis.from_url(url) as redis,
    ):
        await redis.set("kept", "marmalade", ex=600)
        await forget_something(store)
        await until(lambda: held(tmp_path, b"marmalade"))
        await until_true(lambda: is_unmarked(redis))
        await until(lambda: not held(tmp_path))
        assert held(tmp_path, b"marmalade")
        assert 0 < await redis.ttl(kv_key("rewriting")) <= SPACING_S
        await forget_something(store)
        assert await redis.exists(key("forgotten", HERE)) == 1
        await redis.delete(kv_key("rewriting"))
        await until_true(lambda: is_unmarked(redis))
        await until(lambda: not held(tmp_path))


async def test_a_process_that_ends_before_that_does_it_first(tmp_path: Path) -> None:
    """Nothing is left for a next start that may never be."""
    async with (
        open_embedded(tmp_path) as url,
        open_store(url, history_days=1) as store,
        Redis.from_url(url) as redis,
    ):
        await redis.set(kv_key("rewriting"), b"", ex=600)
        await forget_something(store)
        await until(lambda: held(tmp_path))
    assert not held(tmp_path)


async def test_after_a_kill_the_next_start_does_it(tmp_path: Path) -> None:
    """The mark outlives both processes, and so does a rewrite's unfinished file no start."""
    async with (
        user(tmp_path) as first,
        open_store(first.url, history_days=1) as store,
        Redis.from_url(first.url) as redis,
    ):
        await redis.set(kv_key("rewriting"), b"", ex=600)
        await forget_something(store)
        await until(lambda: held(tmp_path))
        await first.die()  # first: it would begin a rewrite itself
        await redis.delete(kv_key("rewriting"))
        pid = await pid_of(first.url)
    os.kill(pid, signal.SIGKILL)
    await ended(pid)
    (tmp_path / "temp-rewriteaof-bg-17.aof").write_bytes(SECRET)
    (tmp_path / "appendonlydir" / "temp-appendonly.aof.9.incr.aof").write_bytes(SECRET)
    async with open_embedded(tmp_path):
        await until(lambda: not held(tmp_path))


async def test_a_rewrite_that_fails_is_tried_again(tmp_path: Path) -> None:
    """A full disk, for example: here the server's own child is killed."""
    async with (
        open_embedded(tmp_path) as url,
        open_store(url, history_days=1) as store,
        Redis.from_url(url) as redis,
    ):
        pid = await pid_of(url)
        await redis.config_set("rdb-key-save-delay", 60_000_000)
        await forget_something(store)
        await until(lambda: bool(those_of(pid)))
        os.kill(those_of(pid)[0], signal.SIGKILL)
        await redis.config_set("rdb-key-save-delay", 0)
        await until(lambda: not those_of(pid))
        assert await redis.exists(key("forgotten", HERE)) == 1
        assert held(tmp_path)
        await redis.delete(kv_key("rewriting"))
        await until_true(lambda: is_unmarked(redis))
        await until(lambda: not held(tmp_path))


def those_of(pid: int) -> list[int]:
    """A process's children."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
