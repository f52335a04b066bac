"""The bundled Valkey's files: what was deleted leaves them within a day."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from redis.asyncio import Redis

from bot.clock import DAY_S
from bot.store import Store, open_store
from bot.store.embedded import keep_rewriting, open_embedded
from bot.store.keys import REWRITTEN_KEY
from bot.tasks import run_beside
from tests.bot.store.processes import ended, pid_of, user
from tests.bot.store.turns import leased
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
    """Something is kept, and deleted again."""
    lease = await leased(store, HERE)
    await store.journal.commit(lease, SECRET, [], keep_turns=1)
    await store.history.purge(lease)
    await store.leases.release(lease)


async def is_rewritten(redis: Redis) -> bool:
    """Within the last day."""
    return bool(await redis.exists(REWRITTEN_KEY))


async def test_what_was_deleted_leaves_the_files_a_day_later(tmp_path: Path) -> None:
    """Not before, and other data stays."""
    async with (
        open_embedded(tmp_path) as url,
        open_store(url, history_days=1) as store,
        Redis.from_url(url) as redis,
    ):
        await until_true(lambda: is_rewritten(redis))
        assert 0 < await redis.ttl(REWRITTEN_KEY) <= DAY_S
        await redis.set("kept", "marmalade", ex=600)
        await forget_something(store)
        await until(lambda: held(tmp_path) and held(tmp_path, b"marmalade"))
        async with run_beside(keep_rewriting(url, look_s=0.05)):
            assert held(tmp_path)
            await redis.delete(REWRITTEN_KEY)
            await until(lambda: not held(tmp_path))
        assert held(tmp_path, b"marmalade")


async def test_after_a_kill_the_next_start_does_it(tmp_path: Path) -> None:
    """A rewrite's unfinished file outlives no start."""
    async with (
        user(tmp_path) as first,
        open_store(first.url, history_days=1) as store,
        Redis.from_url(first.url) as redis,
    ):
        await until_true(lambda: is_rewritten(redis))
        await forget_something(store)
        await until(lambda: held(tmp_path))
        await first.die()  # first: it would begin a rewrite itself
        await redis.delete(REWRITTEN_KEY)
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
        await until_true(lambda: is_rewritten(redis))
        pid = await pid_of(url)
        await redis.set("kept", "marmalade", ex=600)  # without a key, a rewrite has no delay
        await redis.config_set("rdb-key-save-delay", 60_000_000)
        await forget_something(store)
        await until(lambda: held(tmp_path))
        async with run_beside(keep_rewriting(url, look_s=0.05)):
            await redis.delete(REWRITTEN_KEY)
            await until(lambda: bool(those_of(pid)))
            os.kill(those_of(pid)[0], signal.SIGKILL)
            assert not await is_rewritten(redis)
            await until(lambda: held(tmp_path))  # a look may miss a file while others are renamed
            await redis.config_set("rdb-key-save-delay", 0)
            await until(lambda: not held(tmp_path))


def those_of(pid: int) -> list[int]:
    """A process's children."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
