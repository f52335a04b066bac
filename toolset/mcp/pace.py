"""How fast a server may talk: one that never stops would take the event loop from everybody else."""

from __future__ import annotations

import time

import anyio

A_SECOND = 500  # messages, each of up to PIECE bytes
PIECE = 32 * 1024
VALUES = 200  # in JSON that cost as much as a message: a megabyte of empty lists takes a quarter of a second


class Pace:
    """The messages of one connection."""

    def __init__(self) -> None:
        self._began = 0.0
        self._spent = 0

    async def keep(self, messages: int, data: bytes) -> None:
        """Wait as long as what came in this second should have taken."""
        now = time.monotonic()
        if now - self._began >= 1:
            self._began, self._spent = now, 0
        self._spent += messages + len(data) // PIECE + data.count(b",") // VALUES
        if self._spent > A_SECOND:
            await anyio.sleep(max(self._began + self._spent / A_SECOND - now, 0))
