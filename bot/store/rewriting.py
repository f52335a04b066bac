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


@asynccontextmanager
async def keep_rewriting(url: str, look_s: float = LOOK_S) -> AsyncIterator[None]:
    """Rewrite when it is due, while the context is open."""
    client = connect(url, 1)
    try:
        async with run_beside(_keep_looking(client, look_s)):
            yield
    finally:
        await client.aclose()


async def _keep_looking(client: Client, look_s: float) -> None:
    while True:
        with suppress(StoreUnavailable):
            async with translate_errors():
                await _rewrite_if_due(client)
        await asyncio.sleep(look_s)


async def _rewrite_if_due(client: Client) -> None:
    if await client.exists(rewritten_key()):
        return
    await client.bgrewriteaof()
    about = await client.info("persistence")
    while about["aof_rewrite_in_progress"] or about["aof_rewrite_scheduled"]:
        await asyncio.sleep(POLL_S)
        about = await client.info("persistence")
    if about["aof_last_bgrewrite_status"] != "ok":
        log.warning("valkey.not_rewritten")
        return
    # A transaction is carried out in a full store too.
    await Scripts(client, DAY_S).transact([("SET", rewritten_key(), "", "EX", DAY_S)])
