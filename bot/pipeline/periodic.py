"""Work that one of all processes does every so many seconds (``Feature.every``)."""

from __future__ import annotations

import asyncio

import structlog

from bot.errors import StoreUnavailable
from bot.pipeline.feature import Work
from bot.store import Store

log = structlog.stdlib.get_logger(__name__)


async def repeat(store: Store, name: str, seconds: int, work: Work) -> None:
    """Try to do the work periodically; never returns."""
    while True:
        await do_if_due(store, name, seconds, work)
        await asyncio.sleep(seconds)


async def do_if_due(store: Store, name: str, seconds: int, work: Work) -> None:
    """Do the work, unless any process has begun it within these seconds.

    It ends with its period, so that no other process can begin it meanwhile. What fails is tried
    again in the next period.
    """
    try:
        if await store.kv.set_if_absent(f"every:{name}", seconds):
            async with asyncio.timeout(seconds):
                await work()
    except StoreUnavailable as error:
        log.warning("work.postponed", work=name, cause=str(error))
    except Exception:  # other work must go on
        log.exception("work.failed", work=name)
