"""The processes of Kaiwa, from start to drain: ``run``, ``worker`` and the terminal's."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

from bot.app import Runtime, asgi, open_house, wire
from bot.conversation.intake import Jobs
from bot.ops.eviction import Evictor
from bot.settings import Settings
from bot.web.connections import bounds_here
from bot.web.server import listen, serving, stop_signals
from bot.worker import DocketJobs, OwnJobs, Worker, open_docket


async def serve(settings: Settings, *, worker: bool, announce: Callable[[int], None]) -> None:
    """``kaiwa run``: web and, unless it runs apart, the worker, until SIGTERM; a second one ends running turns at once.

    Args:
        announce: called with the port once requests are answered.
    """
    bounds = bounds_here()
    with listen(settings.host, settings.port) as sock, stop_signals() as orders:
        async with AsyncExitStack() as stack:
            house = await stack.enter_async_context(open_house(settings))
            docket = await stack.enter_async_context(open_docket(house.url))
            at_work = Worker(docket, house.store, orders.hurry) if worker else None
            hints = await stack.enter_async_context(aclosing(DocketJobs(docket)))
            jobs: Jobs = at_work or hints
            wired = await stack.enter_async_context(wire(house, jobs, listens=True, works=worker))
            evictor = Evictor(house.store, wired.store_full)
            server = await stack.enter_async_context(serving(asgi(house, wired, at_work), sock, bounds))
            stack.callback(wired.console.close)
            if at_work:
                await stack.enter_async_context(at_work.running(wired.conversations.process, [evictor.run]))
            _freeze_garbage()
            announce(sock.getsockname()[1])
            await _until(orders.stop, server.wait_until_ended, *([at_work.wait_until_ended] if at_work else []))
            wired.intake.closed = wired.conversations.closing = True


async def work(settings: Settings, *, announce: Callable[[], None]) -> None:
    """``kaiwa worker``: turns only, until SIGTERM."""
    with stop_signals() as orders:
        async with open_house(settings) as house, open_docket(house.url) as docket:
            worker = Worker(docket, house.store, orders.hurry)
            async with wire(house, worker) as wired:
                evictor = Evictor(house.store, wired.store_full)
                async with worker.running(wired.conversations.process, [evictor.run]):
                    _freeze_garbage()
                    announce()
                    await _until(orders.stop, worker.wait_until_ended)
                    wired.conversations.closing = True


@asynccontextmanager
async def open_chat(settings: Settings, conversation: str) -> AsyncIterator[Runtime]:
    """``kaiwa chat``: everything at work, with a worker for this conversation alone."""
    jobs = OwnJobs(conversation)
    async with (
        open_house(settings) as house,
        wire(house, jobs, only_console=True) as wired,
        jobs.running(wired.conversations.process),
    ):
        yield wired


def _freeze_garbage() -> None:
    """Take what is loaded out of garbage collection: a full one over all of it would stall webhooks for 0.1 s."""
    gc.collect()
    gc.freeze()


async def _until(stop: asyncio.Event, *ended: Callable[[], Awaitable[None]]) -> None:
    """Wait for the order to stop.

    Raises:
        Exception: a part has ended by itself; the process should end too, and be started anew.
    """
    waits = [asyncio.ensure_future(wait()) for wait in (stop.wait, *ended)]
    try:
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in done:
            wait.result()
    finally:
        for wait in waits:
            wait.cancel()
