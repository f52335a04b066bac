"""Images that people sent, fetched while LINE still has them."""

from __future__ import annotations

import asyncio

import structlog

from bot.channels.line.failure import Failure
from bot.channels.line.lazy import LazyApi

log = structlog.stdlib.get_logger(__name__)

MOST = 10 * 1024 * 1024  # bytes; LINE takes no larger image
FETCH_S = 10.0  # all told
POLL_S = 0.5


async def image(api: LazyApi, message_id: str) -> bytes | None:
    """An image, waited for while LINE prepares it; None where it cannot be had."""
    try:
        async with asyncio.timeout(FETCH_S):
            opened = await api()
            while (content := await opened.content(message_id, MOST)) is None:  # noqa: ASYNC110 -- LINE tells nobody
                await asyncio.sleep(POLL_S)
            return content
    except (TimeoutError, Failure) as error:
        log.info("LINE image not fetched", reason=str(error) or "not in time")
        return None
