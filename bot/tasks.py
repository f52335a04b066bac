"""Tasks that live as long as a context, and locks of files, which processes share; the system frees
the locks of a killed process."""

from __future__ import annotations

import asyncio
import fcntl
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Any


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


POLL_S = 0.005


def try_lock(file: IO[bytes]) -> bool:
    """Lock a file if it is free; closing the file or the end of the process unlocks it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def wait_for_lock(file: IO[bytes], poll_s: float = POLL_S) -> None:
    """Wait for the lock without blocking the event loop."""
    while not try_lock(file):  # noqa: ASYNC110 -- flock has no event for a free lock
        await asyncio.sleep(poll_s)


@asynccontextmanager
async def hold_lock(path: Path, poll_s: float = POLL_S) -> AsyncIterator[None]:
    """Hold the lock while the context is open."""
    with path.open("ab") as file:
        await wait_for_lock(file, poll_s)
        yield
