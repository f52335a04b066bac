"""The processes of Kaiwa from start to drain: ``kaiwa run``, ``kaiwa worker`` and ``kaiwa
chat``."""

from __future__ import annotations

import asyncio
import gc
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path

import structlog

from bot.app.runtime import Runtime, open_runtime
from bot.app.services import ProcessServices, open_services
from bot.app.site import asgi
from bot.app.storage import open_url
from bot.ops.eviction import Evictor
from bot.settings import Settings
from bot.store.embedded import Part
from bot.tasks import run_beside
from bot.web.connections import bounds_here
from bot.web.port import READY, Membership, inherited
from bot.web.server import serving, stop_signals
from bot.worker import SHORT_SWEEP_S, SWEEP_S, ChatWorker, Process, Service, Worker, beside_workers

log = structlog.stdlib.get_logger(__name__)

FIRST_TOOLS_S = 5.0  # of ``kaiwa chat``, for its MCP servers
COLLECTED_AFTER = 10_000  # new objects; after 700 or 2,000 by Python's default


async def serve(
    settings: Settings,
    sock: socket.socket,
    membership: Membership | None = None,
    *,
    worker: bool,
    announce: Callable[[int], None],
) -> None:
    """``kaiwa run``: web server and worker until SIGTERM; a second SIGTERM ends running turns at
    once.

    Args:
        sock: it listens, and is closed at the end.
        membership: of a process that shares the socket with others.
        worker: False where workers run in processes of their own.
        announce: called with the port when the server answers requests.
    """
    link = inherited(membership.link) if membership else None
    shared = Path(membership.folder) if membership else None
    is_first = membership is None or membership.is_first
    is_start = is_first and not (membership and membership.replaces)
    bounds = bounds_here()
    if membership and membership.replaces:
        log.warning("process.replaced", cause=membership.replaces)
    with sock, link or nullcontext(), stop_signals(link) as orders:
        async with AsyncExitStack() as stack:
            part: Part = "owns" if is_first else "connects"
            url = await stack.enter_async_context(open_url(settings, part))
            if link and is_first:
                # The others need the bundled Valkey until they have drained.
                stack.push_async_callback(orders.wait_until_alone)
            services = await stack.enter_async_context(open_services(settings, url, shared))
            sweep_s = SHORT_SWEEP_S if shared else SWEEP_S
            here = Worker(services.store, orders.hurry, sweep_s) if worker else None
            start = here.add if here else _leave_to_the_sweep
            runtime = await stack.enter_async_context(
                open_runtime(services, start, listens=True, is_start=is_start, works=worker)
            )
            ends = [
                await stack.enter_async_context(
                    serving(asgi(services, runtime, here), sock, bounds)
                )
            ]
            stack.callback(runtime.console.close)
            if here:
                ends.append(here.wait_until_ended)
                await stack.enter_async_context(
                    here.run(runtime.conversations.process, _upkeep(runtime))
                )
            _begin_collections()
            if link:
                link.send(READY)
            if is_first:
                announce(sock.getsockname()[1])
            await _until(orders.stop, *ends)
            runtime.intake.closed = runtime.conversations.closing = True


async def work(settings: Settings, *, announce: Callable[[], None]) -> None:
    """``kaiwa worker``: only turns, until SIGTERM."""
    with stop_signals() as orders:
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(open_url(settings))
            services = await stack.enter_async_context(open_services(settings, url))
            worker = Worker(services.store, orders.hurry, SHORT_SWEEP_S)
            runtime = await stack.enter_async_context(
                open_runtime(services, worker.add, is_start=True)
            )
            await stack.enter_async_context(
                worker.run(runtime.conversations.process, _upkeep(runtime))
            )
            _begin_collections()
            announce()
            await _until(orders.stop, worker.wait_until_ended)
            runtime.conversations.closing = True


@asynccontextmanager
async def open_chat(settings: Settings, conversation: str) -> AsyncIterator[Runtime]:
    """``kaiwa chat``: no web server, and a worker for one conversation."""
    worker = ChatWorker(conversation)
    async with (
        open_url(settings, "may own") as url,
        open_services(settings, url) as services,
        open_runtime(services, worker.add, only_console=True) as runtime,
        worker.run(_with_listed_tools(services, runtime)),
        run_beside(_run_features(runtime)),
    ):
        _begin_collections()
        yield runtime


def _with_listed_tools(services: ProcessServices, runtime: Runtime) -> Process:
    """Processes conversations; the first turn waits for the tools of MCP servers, which start with
    this process."""
    deadline = time.monotonic() + FIRST_TOOLS_S

    async def process(conversation: str, author: str) -> None:
        await services.tools.wait_until_listed(deadline)
        await runtime.conversations.process(conversation, author)

    return process


def _leave_to_the_sweep(_conversation: str, _author: str) -> None:
    """Does nothing: a worker of another process finds the conversation in the due index."""


async def _run_features(runtime: Runtime) -> None:
    """Run what features do beside a worker."""
    shared = runtime.conversations.services
    await asyncio.gather(*(service() for service in beside_workers(shared.features, shared.store)))


def _upkeep(runtime: Runtime) -> list[Service]:
    """What runs beside a worker."""
    shared = runtime.conversations.services
    evictor = Evictor(shared.store, partial(shared.alerts.notice, "store_full"))
    return [evictor.run, *beside_workers(shared.features, shared.store)]


def _begin_collections() -> None:
    """Switch garbage collection on, without the objects made so far: going through them takes 0.1
    s.

    A turn leaves no cycles, and by Python's default 2 % of its time went into looking for them.
    """
    gc.freeze()
    gc.set_threshold(COLLECTED_AFTER)
    gc.enable()


async def _until(stop: asyncio.Event, *ended: Callable[[], Awaitable[None]]) -> None:
    """Wait for the order to stop.

    Raises:
        Exception: a service has ended by itself; the process should end too, and be restarted.
    """
    waits = [asyncio.ensure_future(wait()) for wait in (stop.wait, *ended)]
    try:
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in done:
            wait.result()
    finally:
        for wait in waits:
            wait.cancel()
