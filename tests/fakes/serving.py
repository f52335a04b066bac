"""Serves an HTTP stand-in from a thread of its own, so that a test which blocks, or a subprocess, is answered too."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

from aiohttp import web

ACCEPTING = 5  # rounds of the loop that a connection made at the very end takes to be accepted, and so to be closed


@contextmanager
def serving(application: web.Application) -> Iterator[str]:
    """The base URL of the application on a free port of this machine; open requests are dropped at the end."""
    started: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    thread = Thread(target=asyncio.run, args=(_serve(application, started),), name="fake", daemon=True)
    thread.start()
    url, loop, stop = started.result(timeout=10)
    try:
        yield url
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(timeout=10)


async def _serve(
    application: web.Application, started: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]]
) -> None:
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.01, handler_cancellation=True)
    try:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
    except BaseException as error:
        started.set_exception(error)
        raise
    stop = asyncio.Event()
    host, port = runner.addresses[0]
    started.set_result((f"http://{host}:{port}", asyncio.get_running_loop(), stop))
    await stop.wait()
    for _ in range(ACCEPTING):
        await asyncio.sleep(0)
    await runner.cleanup()
