"""Images that people sent, fetched while LINE still has them."""

from __future__ import annotations

import asyncio

import structlog

from bot.channels import Take
from bot.channels.line.failure import Failure
from bot.channels.line.lazy import LazyApi

log = structlog.stdlib.get_logger(__name__)

MOST = 10 * 1024 * 1024  # bytes; LINE takes no larger image
FETCH_S = 10.0  # all told
POLL_S = 0.5


async def fetch(api: LazyApi, message_id: str, take: Take) -> bool:
    """Hand over an image, waited for while LINE prepares it; False where not all of it can be had."""
    try:
        async with asyncio.timeout(FETCH_S):
            opened = await api()
            while (is_whole := await opened.content(message_id, MOST, take)) is None:  # noqa: ASYNC110 -- LINE tells nobody
                await asyncio.sleep(POLL_S)
            return is_whole
    except (TimeoutError, Failure) as error:
        log.info("media.not_fetched", cause=str(error) or "not in time")
        return False
