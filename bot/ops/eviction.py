"""Eviction: while the store is nearly full, shorten the histories above their share and alert the
operator."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Literal

import structlog

from bot.errors import StoreUnavailable
from bot.store import MemoryUse, Store

log = structlog.stdlib.get_logger(__name__)

EVERY_S = 10.0
# The claim lasts longer than make_room may take, so that only one process runs it.
CLAIM_S = 40
# The pause after make_room is a little less than EVERY_S.
PAUSE_S = 9
MIB = 1 << 20
NAMED = 10  # conversations in a log line
CLAIM = "upkeep:memory"

NOTHING = Counter[str]()

State = Literal["ok", "tight", "exhausted"]


async def no_alarm(_detail: str) -> None:
    """Alert nobody."""


class Evictor:
    """Checks the store's memory periodically; one process at a time makes room.

    Args:
        alarm: called with the share of memory in use after each ``make_room``.
    """

    def __init__(
        self,
        store: Store,
        alarm: Callable[[str], Awaitable[None]] = no_alarm,
        every_s: float = EVERY_S,
    ) -> None:
        self._store = store
        self._alarm = alarm
        self._every_s = every_s
        self._state: State = "ok"

    async def run(self) -> None:
        """Check periodically; never returns."""
        while True:
            try:
                await self.check()
            except StoreUnavailable as error:
                log.warning("store.memory_unknown", cause=str(error))
            await asyncio.sleep(self._every_s)

    async def check(self) -> None:
        """Check once, and make room if memory is tight."""
        memory = await self._store.memory.measure()
        if not memory.is_tight:
            self._log("ok", memory)
        elif await self._store.kv.set_if_absent(CLAIM, CLAIM_S):
            freed = await self._store.memory.make_room()
            self._log("tight" if freed else "exhausted", memory, freed)
            await self._store.kv.set(CLAIM, b"", PAUSE_S)
            await self._alarm(f"{memory.ratio:.0%}")

    def _log(self, state: State, memory: MemoryUse, freed: Counter[str] = NOTHING) -> None:
        """Log a change of state, once."""
        if state == self._state:
            return
        self._state = state
        numbers = {
            "used_mib": round(memory.used / MIB, 1),
            "limit_mib": round(memory.limit / MIB, 1),
        }
        if state == "ok":
            log.info("store.memory_ok", **numbers)
        elif state == "tight":
            fix = "raise the store's maxmemory, or lower HISTORY_DAYS"
            most = [conversation for conversation, _ in freed.most_common(NAMED)]
            done = {"histories": len(freed), "turns": freed.total(), "conversations": most}
            log.warning("store.memory_tight", **numbers, **done, fix=fix)
        else:
            fix = "raise the store's maxmemory"
            log.error("store.memory_exhausted", **numbers, fix=fix)
