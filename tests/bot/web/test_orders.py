"""Orders to stop: by signals, and by a supervisor."""

from __future__ import annotations

import asyncio
import os
import signal
import socket

from bot.web.server import Orders, stop_signals


def given(orders: Orders) -> tuple[bool, bool]:
    return orders.stop.is_set(), orders.hurry.is_set()


async def send(number: signal.Signals, event: asyncio.Event) -> None:
    """Send a signal to this process, and wait until it is an order."""
    os.kill(os.getpid(), number)
    async with asyncio.timeout(5):
        await event.wait()


async def test_the_second_signal_hurries() -> None:
    """Whichever of the two it is."""
    with stop_signals() as orders:
        await send(signal.SIGINT, orders.stop)
        assert given(orders) == (True, False)
        await send(signal.SIGTERM, orders.hurry)


async def test_a_closed_terminal_stops() -> None:
    """Its signal would end the process with the store still running."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup may have started the tests
    try:
        with stop_signals() as orders:
            await send(signal.SIGHUP, orders.stop)
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_what_nohup_has_started_does_not_stop_with_its_terminal() -> None:
    """It has switched the signal off."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_signals() as orders:
            os.kill(os.getpid(), signal.SIGHUP)
            await send(signal.SIGTERM, orders.stop)
            assert given(orders) == (True, False)
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_a_member_hurries_only_when_its_supervisor_says_so() -> None:
    """SIGTERM may come twice, from the supervisor and from the platform."""
    ours, theirs = socket.socketpair()
    with ours, theirs, stop_signals(ours) as orders:
        await send(signal.SIGTERM, orders.stop)
        orders.stop.clear()
        await send(signal.SIGTERM, orders.stop)
        assert given(orders) == (True, False)
        await send(signal.SIGINT, orders.hurry)


async def test_a_member_stops_when_its_supervisor_is_dead() -> None:
    """The link ends with it."""
    ours, theirs = socket.socketpair()
    with ours, stop_signals(ours) as orders:
        theirs.close()
        async with asyncio.timeout(5):
            await orders.wait_until_alone()
            await orders.stop.wait()
            await orders.wait_until_alone()
        assert given(orders) == (True, False)
