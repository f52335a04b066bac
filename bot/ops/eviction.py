"""Keeps the store from filling up, beside the turns: the largest histories make room, and the operator is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import structlog

from bot.errors import StoreUnavailable
from bot.store import Memory, Relief, Store

log = structlog.stdlib.get_logger(__name__)

EVERY_S = 10.0
CLAIM_S = 40  # longer than a relief may take, so that no two processes are at it
PAUSE_S = 9  # after one; a little less than EVERY_S
MIB = 1 << 20
CLAIM = "upkeep:memory"

State = Literal["room", "tight", "stuck"]


async def untold(_detail: str) -> None:
    """Nobody is there to be told."""


class Upkeep:
    """Looks at the store's memory again and again; one process at a time does something about it.

    Args:
        alarm: is told how full the store is while it is tight.
    """

    def __init__(
        self, store: Store, alarm: Callable[[str], Awaitable[None]] = untold, every_s: float = EVERY_S
    ) -> None:
        self._store = store
        self._alarm = alarm
        self._every_s = every_s
        self._state: State = "room"

    async def run(self) -> None:
        """For ever; what fails is tried again."""
        while True:
            try:
                await self.look()
            except StoreUnavailable as error:
                log.warning("store.memory_unknown", cause=str(error))
            await asyncio.sleep(self._every_s)

    async def look(self) -> None:
        """Look once, and make room where it is tight."""
        memory = await self._store.pressure.measure()
        if not memory.is_tight:
            self._tell("room", memory, Relief())
        elif await self._store.kv.set_if_absent(CLAIM, CLAIM_S):
            relief = await self._store.pressure.relieve()
            self._tell("tight" if relief.turns else "stuck", memory, relief)
            await self._store.kv.set(CLAIM, b"", PAUSE_S)
            await self._alarm(f"{memory.ratio:.0%}")

    def _tell(self, state: State, memory: Memory, relief: Relief) -> None:
        """Say what has changed; what goes on as before is not said again."""
        if state == self._state:
            return
        self._state = state
        numbers = {"used_mib": round(memory.used / MIB, 1), "limit_mib": round(memory.limit / MIB, 1)}
        if state == "room":
            log.info("store.memory_ok", **numbers)
        elif state == "tight":
            fix = "raise the store's maxmemory, or lower HISTORY_DAYS"
            done = {"histories": relief.histories, "turns": relief.turns}
            log.warning("store.memory_tight", **numbers, **done, fix=fix)
        else:
            fix = "raise the store's maxmemory"
            log.error("store.memory_exhausted", **numbers, fix=fix)
