"""Rewrites of the bundled Valkey's append-only file, which would keep what ``/forget me`` has
deleted.

A mark of a shard says that a rewrite is due. It is deleted after the rewrite, so a kill only delays
that to the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import structlog

from bot.errors import StoreUnavailable
from bot.store.clients import Client, connect, translate_errors
from bot.store.keys import forgotten_marks, kv_key
from bot.tasks import run_beside

log = structlog.stdlib.get_logger(__name__)

LOOK_S = 2.0
SPACING_S = 50  # between two rewrites of all processes; so deleted data is gone within a minute
POLL_S = 0.05
LAST_S = 2.0  # for a rewrite before the server is stopped

DROP_OLDER = """#!lua flags=allow-oom
local at = redis.call('GET', KEYS[1])
if at and tonumber(at) < tonumber(ARGV[1]) then
    redis.call('DEL', KEYS[1])
end
"""


class Rewriting:
    """Starts a rewrite when one is due."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def run(self) -> None:
        """Rewrite when it is due; never returns."""
        while True:
            with suppress(StoreUnavailable):
                if await self._is_due() and await self._claim():
                    await self._rewrite()
            await asyncio.sleep(LOOK_S)

    async def finish(self) -> None:
        """Rewrite now if it is due, for at most ``LAST_S``; else the next start does it."""
        with suppress(StoreUnavailable, TimeoutError):
            async with asyncio.timeout(LAST_S):
                if await self._is_due():
                    await self._rewrite()

    async def _is_due(self) -> bool:
        async with translate_errors(1.0):
            return bool(await self._client.exists(*forgotten_marks()))

    async def _claim(self) -> bool:
        async with translate_errors():
            return bool(await self._client.set(kv_key("rewriting"), b"", nx=True, ex=SPACING_S))

    async def _rewrite(self) -> None:
        await self._wait_until_idle()  # one under way may have begun before the deletion
        async with translate_errors():
            seconds, microseconds = await self._client.time()
            await self._client.bgrewriteaof()
        if await self._wait_until_idle() != "ok":
            log.warning("valkey.not_rewritten")
            return
        begun = seconds * 1000 + microseconds // 1000
        async with translate_errors():
            await self._client.execute_each(
                ("EVAL", DROP_OLDER, 1, mark, begun) for mark in forgotten_marks()
            )

    async def _wait_until_idle(self) -> str:
        """Wait until no rewrite is under way; returns the status of the last one."""
        while True:
            async with translate_errors():
                about = await self._client.info("persistence")
            if not (about["aof_rewrite_in_progress"] or about["aof_rewrite_scheduled"]):
                return str(about["aof_last_bgrewrite_status"])
            await asyncio.sleep(POLL_S)


@asynccontextmanager
async def keep_rewriting(url: str) -> AsyncIterator[None]:
    """Rewrite when it is due, while the context is open."""
    async with _open_rewriting(url) as server, run_beside(server.run()):
        yield


async def finish_rewriting(url: str) -> None:
    """Rewrite if it is due, before the server is stopped."""
    async with _open_rewriting(url) as server:
        await server.finish()


@asynccontextmanager
async def _open_rewriting(url: str) -> AsyncIterator[Rewriting]:
    client = connect(url, 1)
    try:
        yield Rewriting(client)
    finally:
        await client.aclose()
