"""Waiting for a condition, never for a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


async def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Return as soon as the condition holds.

    Raises:
        TimeoutError: it does not hold within ``seconds``.
    """
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 -- a condition of other processes has no event
            await asyncio.sleep(0.01)


async def until_true(asks: Callable[[], Awaitable[bool]], seconds: float = 30) -> None:
    """The same where asking takes a while."""
    async with asyncio.timeout(seconds):
        while not await asks():  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.05)
