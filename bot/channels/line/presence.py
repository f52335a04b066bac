"""What people see of a running turn: the message marked as read, and the loading animation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog

from bot.channels.line.client import Client, Failure
from bot.channels.line.types import Address, Chat
from bot.live_events import NoWatcher, Watcher
from bot.tasks import run_beside

log = structlog.stdlib.get_logger(__name__)

LOADING_S = 20  # a multiple of 5; after a crash the animation stays this long at most
RENEW_S = 15.0
SHOW_AFTER_S = 0.5  # of a turn; a faster answer needs no animation, and saves a call


class Presence:
    """Shows running turns, in the background; failures are logged."""

    def __init__(
        self, client: Client, renew_s: float = RENEW_S, show_after_s: float = SHOW_AFTER_S
    ) -> None:
        self._client = client
        self._show_after_s = show_after_s
        self._renew_s = renew_s

    @asynccontextmanager
    async def live_view(self, chat: Chat, address: Address) -> AsyncGenerator[Watcher]:
        """A watcher that ignores what it is told: LINE shows no text before it is sent."""
        async with run_beside(self._show(chat, address)):
            yield NoWatcher()

    async def _show(self, chat: Chat, address: Address) -> None:
        try:
            if address.mark_as_read_token:
                await self._client.mark_as_read(address.mark_as_read_token)
        except Failure as failure:
            log.info("line.not_marked_as_read", cause=str(failure))
        try:
            await asyncio.sleep(self._show_after_s)
            while not chat.is_group:
                await self._client.start_loading(chat.id, LOADING_S)
                await asyncio.sleep(self._renew_s)
        except Failure as failure:
            log.info("line.loading_not_shown", cause=str(failure))
