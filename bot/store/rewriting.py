"""Rewrites of the bundled Valkey's append-only file, which would keep what was deleted.

One happens a day after the last one, or at the next start after that.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import structlog

from bot.errors import StoreUnavailable
from bot.store.clients import Client, connect, translate_errors
from bot.store.keys import DAY_S, rewritten_key
from bot.store.scripts import Scripts
from bot.tasks import run_beside

log = structlog.stdlib.get_logger(__name__)

LOOK_S = 60.0
POLL_S = 0.05


class Rewriting:
    """Starts a rewrite when one is due."""

    def __init__(self, client: Client, look_s: float = LOOK_S) -> None:
        self._client = client
        self._look_s = look_s

    async def run(self) -> None:
        """Rewrite when it is due; never returns."""
        while True:
            with suppress(StoreUnavailable):
                await self._rewrite_if_due()
            await asyncio.sleep(self._look_s)

    async def _rewrite_if_due(self) -> None:
        async with translate_errors():
            if await self._client.exists(rewritten_key()):
                return
            await self._client.bgrewriteaof()
        if await self._wait_until_idle() != "ok":
            log.warning("valkey.not_rewritten")
            return
        done = ("SET", rewritten_key(), "", "EX", DAY_S)
        await Scripts(self._client, DAY_S).transact([done])

    async def _wait_until_idle(self) -> str:
        """Wait until no rewrite is under way; returns the status of the last one."""
        while True:
            async with translate_errors():
                about = await self._client.info("persistence")
            if not (about["aof_rewrite_in_progress"] or about["aof_rewrite_scheduled"]):
                return str(about["aof_last_bgrewrite_status"])
            await asyncio.sleep(POLL_S)


@asynccontextmanager
async def keep_rewriting(url: str, look_s: float = LOOK_S) -> AsyncIterator[None]:
    """Rewrite when it is due, while the context is open."""
    client = connect(url, 1)
    try:
        async with run_beside(Rewriting(client, look_s).run()):
            yield
    finally:
        await client.aclose()
