"""What people see while a turn runs: the message marked as read, and the loading animation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import structlog

from bot.channels.line.client import Client, Failure
from bot.channels.line.types import Address, Chat
from bot.live_events import LiveEvent

log = structlog.stdlib.get_logger(__name__)

LOADING_S = 20  # a multiple of 5; a crash leaves the animation for so long at most
RENEW_S = 15.0


class NoWatcher:
    """LINE shows no words before they are sent (``bot.live_events.Watcher``)."""

    async def show(self, event: LiveEvent) -> None:
        """Nothing to see."""


@asynccontextmanager
async def show_presence(
    client: Client, chat: Chat, address: Address, renew_s: float = RENEW_S
) -> AsyncGenerator[NoWatcher]:
    """Show that a turn runs, beside the work inside; failures are logged and hold nothing up."""
    showing = asyncio.create_task(_show(client, chat, address, renew_s))
    try:
        yield NoWatcher()
    finally:
        showing.cancel()
        with suppress(asyncio.CancelledError):
            await showing


async def _show(client: Client, chat: Chat, address: Address, renew_s: float) -> None:
    try:
        if address.mark_as_read_token:
            await client.mark_as_read(address.mark_as_read_token)
    except Failure as failure:
        log.info("line.not_marked_as_read", cause=str(failure))
    try:
        while not chat.is_group:
            await client.start_loading(chat.id, LOADING_S)
            await asyncio.sleep(renew_s)
    except Failure as failure:
        log.info("line.loading_not_shown", cause=str(failure))
