"""How much traces may take: an eighth of the store's memory, and what goes first when it fills."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from bot.features.traces.store import Traces
from bot.store import Store
from bot.store.memory import TIGHT

log = structlog.stdlib.get_logger(__name__)

ALMOST_TIGHT = TIGHT - 0.02
SHARE = 8  # of the store's memory, one part of so many
MOST_BYTES = 256 * 1024 * 1024  # where the store has no limit


class Bounds:
    """Deletes the oldest hours of traces.

    Args:
        hours: for which words are kept.
    """

    def __init__(self, store: Store, traces: Traces, hours: Callable[[], int]) -> None:
        self._store = store
        self._hours = hours
        self._traces = traces

    async def keep(self) -> None:
        """Delete what is too much; half of all where the store is nearly full, since
        histories of conversations would be shortened next."""
        hours = await self._traces.hours(self._hours())
        if not hours:
            return
        await self._traces.lengthen_key()
        memory = await self._store.memory.measure()
        most = memory.limit // SHARE or MOST_BYTES
        if memory.ratio >= ALMOST_TIGHT:
            most = min(most, sum(hours.values()) // 2)
        left = most
        for hour, bytes_of in hours.items():
            if bytes_of > left:
                await self._make_room(hour, bytes_of, left)
            left = max(left - bytes_of, 0)

    async def _make_room(self, hour: int, bytes_of: int, left: int) -> None:
        """Delete the oldest of an hour, down to so many bytes."""
        if left:
            await self._traces.trim_hour(hour, bytes_of - left)
        else:
            await self._traces.delete_hour(hour)
        log.info("traces.deleted", hour=hour, bytes=bytes_of - left)
