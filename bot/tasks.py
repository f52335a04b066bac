"""Tasks that live as long as a context."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def run_beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a coroutine while the context is open; on exit it is cancelled and awaited."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
