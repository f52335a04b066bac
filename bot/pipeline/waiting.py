"""What goes on beside an answer that is being made: features are told of people who wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from msgspec.structs import replace

from bot.channels import Channel
from bot.errors import LeaseLost
from bot.pipeline.prepare import InboundMessages
from bot.pipeline.services import Services
from bot.store import Lease

LOOK_S = 10.0  # until the first call of the hook, and between two


@asynccontextmanager
async def tell_of_waiting(
    services: Services, lease: Lease, channel: Channel, inbound: InboundMessages
) -> AsyncIterator[None]:
    """Call ``Feature.while_waiting`` while the context is open; an answer that is soon ready, and
    in time for its address, calls it never."""
    over, watches = asyncio.Event(), list[asyncio.Task[None]]()

    async def watch() -> None:
        while not over.is_set():
            asked = inbound.newest and replace(inbound.newest, address=inbound.address)
            try:
                pause_s = await services.features.while_waiting(lease, asked)
            except LeaseLost:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S if pause_s is None else min(pause_s, LOOK_S)):
                    await over.wait()

    def begin() -> None:
        watches.append(asyncio.create_task(watch()))

    left_s = None
    if channel.abilities.expires:
        left_s = channel.validity(inbound.address).left_s
    first_s = LOOK_S if left_s is None else min(max(left_s, 0), LOOK_S)
    timer = asyncio.get_running_loop().call_later(first_s, begin)
    try:
        yield
    finally:
        timer.cancel()
        over.set()
        # They are not cancelled: what they have begun to tell must be told.
        for one in watches:
            await one
