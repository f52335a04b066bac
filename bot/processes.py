"""The processes of Kaiwa from start to drain: ``kaiwa run``, ``kaiwa worker`` and ``kaiwa
chat``."""

from __future__ import annotations

import asyncio
import gc
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import structlog

from bot.app import ProcessServices, Runtime, asgi, open_runtime, open_services
from bot.ops.eviction import Evictor
from bot.settings import Settings
from bot.supervisor import READY, Membership
from bot.tasks import run_beside
from bot.web.connections import bounds_here
from bot.web.port import inherited
from bot.web.server import Orders, serving, stop_signals, supervisors_orders
from bot.worker import SHORT_SWEEP_S, SWEEP_S, ChatWorker, Process, Service, Worker

log = structlog.stdlib.get_logger(__name__)

FIRST_TOOLS_S = 5.0  # of ``kaiwa chat``, for its MCP servers
COLLECTED_AFTER = 10_000  # new objects; after 700 or 2,000 by Python's default


async def serve(
    settings: Settings,
    port: socket.socket | Membership,
    *,
    worker: bool,
    announce: Callable[[int], None],
) -> None:
    """``kaiwa run``: web server and worker until SIGTERM; a second SIGTERM ends running turns at
    once.

    Args:
        port: the listening socket, which is closed at the end, or the membership of a process that
            shares one.
        worker: False where workers run in processes of their own.
        announce: called with the port when the server answers requests.
    """
    if isinstance(port, Membership):
        await _serve_as_member(settings, port, worker=worker, announce=announce)
    else:
        with port, stop_signals() as orders:
            await _serve(settings, port, orders, worker=worker, announce=announce)


async def _serve_as_member(
    settings: Settings, membership: Membership, *, worker: bool, announce: Callable[[int], None]
) -> None:
    if membership.replaces:
        log.warning("process.replaced", cause=membership.replaces)
    with (
        inherited(membership.socket) as sock,
        inherited(membership.link) as link,
        supervisors_orders(link) as orders,
    ):

        def report(port: int) -> None:
            link.send(READY)
            if membership.announces:
                announce(port)

        await _serve(
            settings, sock, orders, worker=worker, announce=report, shared=Path(membership.folder)
        )


async def _serve(
    settings: Settings,
    sock: socket.socket,
    orders: Orders,
    *,
    worker: bool,
    announce: Callable[[int], None],
    shared: Path | None = None,
) -> None:
    bounds = bounds_here()
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(open_services(settings, shared))
        sweep_s = SHORT_SWEEP_S if shared else SWEEP_S
        here = Worker(services.store, orders.hurry, sweep_s) if worker else None
        start = here.add if here else _leave_to_the_sweep
        runtime = await stack.enter_async_context(
            open_runtime(services, start, listens=True, works=worker)
        )
        server = await stack.enter_async_context(
            serving(asgi(services, runtime, here), sock, bounds)
        )
        stack.callback(runtime.console.close)
        if here:
            await stack.enter_async_context(
                here.run(runtime.conversations.process, _upkeep(runtime))
            )
        _begin_collections()
        announce(sock.getsockname()[1])
        services_ended = [server.wait_until_ended]
        if here:
            services_ended.append(here.wait_until_ended)
        await _until(orders.stop, *services_ended)
        runtime.intake.closed = runtime.conversations.closing = True


async def work(settings: Settings, *, announce: Callable[[], None]) -> None:
    """``kaiwa worker``: only turns, until SIGTERM."""
    with stop_signals() as orders:
        async with AsyncExitStack() as stack:
            services = await stack.enter_async_context(open_services(settings))
            worker = Worker(services.store, orders.hurry, SHORT_SWEEP_S)
            runtime = await stack.enter_async_context(open_runtime(services, worker.add))
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
        open_services(settings) as services,
        open_runtime(services, worker.add, only_console=True) as runtime,
        worker.run(_with_listed_tools(services, runtime)),
        run_beside(runtime.reminders.run()),
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


def _upkeep(runtime: Runtime) -> list[Service]:
    """What runs beside a worker."""
    return [Evictor(runtime.store, runtime.store_full).run, runtime.reminders.run]


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
