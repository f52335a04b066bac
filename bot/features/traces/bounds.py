"""How much traces may take: an eighth of the store's memory, and what goes first when it fills."""

from __future__ import annotations

import structlog

from bot.features.traces.store import Traces
from bot.store import Store
from bot.store.memory import ENOUGH

log = structlog.stdlib.get_logger(__name__)

SHARE = 8  # of the store's memory, one part of so many
MOST_BYTES = 256 * 1024 * 1024  # where the store has no limit


class Bounds:
    """Deletes the oldest hours of traces."""

    def __init__(self, store: Store, traces: Traces) -> None:
        self._store = store
        self._traces = traces

    async def keep(self) -> None:
        """Delete what is too much; half of all where the store is nearly full, since
        histories of conversations would be shortened next."""
        hours = await self._traces.hours()
        if not hours:
            return
        await self._traces.lengthen_key()
        memory = await self._store.memory.measure()
        most = memory.limit // SHARE or MOST_BYTES
        if memory.ratio >= ENOUGH:
            most = min(most, sum(hours.values()) // 2)
        size = 0
        for hour, bytes_of in hours.items():
            size += bytes_of
            if size > most:
                await self._traces.delete_hour(hour)
                log.info("traces.hour_deleted", hour=hour, bytes=bytes_of)
