"""How fast a server may talk: one that never stops would take the event loop from everybody else."""

from __future__ import annotations

import time

import anyio

A_SECOND = 500  # messages, each of up to PIECE bytes
PIECE = 32 * 1024


class Pace:
    """The messages of one connection."""

    def __init__(self) -> None:
        self._began = 0.0
        self._spent = 0

    async def keep(self, messages: int, size: int) -> None:
        """Wait until the next second where more came in this one than may."""
        now = time.monotonic()
        if now - self._began >= 1:
            self._began, self._spent = now, 0
        self._spent += messages + size // PIECE
        if self._spent > A_SECOND:
            await anyio.sleep(self._began + 1 - now)
