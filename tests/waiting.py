"""Waiting for a condition, never for a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(holds: Callable[[], bool], seconds: float = 10) -> None:
    """Return as soon as the condition holds.

    Raises:
        TimeoutError: it does not hold within ``seconds``.
    """
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)
