"""What features do beside turns: in each process, or every so many seconds in one of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import structlog

from bot.errors import StoreUnavailable
from bot.pipeline.feature import Feature, Work
from bot.pipeline.services import Features
from bot.store import Store

log = structlog.stdlib.get_logger(__name__)


def beside_workers(
    features: Features, store: Store
) -> list[Callable[[], Coroutine[Any, Any, None]]]:
    """What runs beside the workers of a process: each ``run``, and all of ``every``."""
    services = features.hooks(Feature.run)[:]
    for name, seconds, work in features.every:
        services.append(partial(repeat, store, name, seconds, work))
    return services


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
