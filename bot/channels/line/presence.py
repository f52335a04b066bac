"""What is seen of the bot while it thinks: the message read, and the loading animation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import structlog

from bot.channels.line.address import Address, Place
from bot.channels.line.failure import Failure
from bot.channels.line.lazy import LazyApi
from bot.live_events import LiveEvent

log = structlog.stdlib.get_logger(__name__)

LOADING_S = 20  # a multiple of 5; a crash leaves the animation for so long at most
RENEW_S = 15.0


class NobodyWatches:
    """LINE shows no words before they are sent (``bot.live_events.Watcher``)."""

    async def show(self, event: LiveEvent) -> None:
        """Nothing to see."""


@asynccontextmanager
async def present(
    api: LazyApi, place: Place, address: Address, renew_s: float = RENEW_S
) -> AsyncGenerator[NobodyWatches]:
    """Show that the bot is at it, beside the work inside; failures are logged and hold nothing up."""
    showing = asyncio.create_task(_show(api, place, address, renew_s))
    try:
        yield NobodyWatches()
    finally:
        showing.cancel()
        with suppress(asyncio.CancelledError):
            await showing


async def _show(api: LazyApi, place: Place, address: Address, renew_s: float) -> None:
    opened = await api()
    try:
        if address.mark_as_read_token:
            await opened.mark_as_read(address.mark_as_read_token)
    except Failure as failure:
        log.info("line.not_marked_as_read", cause=str(failure))
    try:
        while place.kind == "user":
            await opened.start_loading(place.id, LOADING_S)
            await asyncio.sleep(renew_s)
    except Failure as failure:
        log.info("line.loading_not_shown", cause=str(failure))
