"""Serves HTTP stand-ins from a thread of their own, so that a test which blocks, or a subprocess,
is answered too."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Thread

from aiohttp import web

# rounds of the loop that a connection made at the very end takes to be accepted, and so to be
# closed
ACCEPTING = 5


@contextmanager
def serving(application: web.Application) -> Iterator[str]:
    """The base URL of the application on a free port of this machine; open requests are dropped at
    the end."""
    loop = _loop()
    runner = web.AppRunner(
        application, access_log=None, shutdown_timeout=0.01, handler_cancellation=True
    )
    try:
        host, port = asyncio.run_coroutine_threadsafe(_start(runner), loop).result(timeout=10)
        yield f"http://{host}:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(_stop(runner), loop).result(timeout=10)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One for all stand-ins of this process, as long as it lives."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="fakes", daemon=True).start()
    return loop


async def _start(runner: web.AppRunner) -> tuple[str, int]:
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0]
    return host, port


async def _stop(runner: web.AppRunner) -> None:
    for _ in range(ACCEPTING):
        await asyncio.sleep(0)
    await runner.cleanup()
