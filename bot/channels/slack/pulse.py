"""Signs of life for ``kaiwa doctor``: when Slack last called, how often with a bad signature, when it last took one."""

from __future__ import annotations

import time
from contextlib import suppress

from bot.channels.notes import Notes
from bot.errors import StoreUnavailable

KEPT_S = 30 * 86_400
EVERY_S = 10.0

WEBHOOK, DELIVERY = "slack:last_webhook", "slack:last_delivery"
BAD_SIGNATURES, LAST_BAD_SIGNATURE = "slack:bad_signatures", "slack:last_bad_signature"


class Pulse:
    """Notes what happens, no oftener than every ten seconds."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._noted: dict[str, float] = {}

    def is_due(self, name: str) -> bool:
        """Whether it is worth a write again."""
        now = time.monotonic()
        if now - self._noted.get(name, -EVERY_S) < EVERY_S:
            return False
        self._noted[name] = now
        return True

    async def beat(self, name: str) -> None:
        """Note that it happened now."""
        with suppress(StoreUnavailable):
            await self._notes.set(name, str(time.time_ns() // 1_000_000).encode(), KEPT_S)

    async def count_bad_signature(self) -> None:
        """Count one, and note that it was now."""
        await self.beat(LAST_BAD_SIGNATURE)
        with suppress(StoreUnavailable):
            await self._notes.incr(BAD_SIGNATURES, KEPT_S)

    async def last(self, name: str) -> int:
        """When it happened last, ms since the epoch, or what was counted; 0 for never."""
        value = await self._notes.get(name)
        return int(value) if value and value.isdigit() else 0
