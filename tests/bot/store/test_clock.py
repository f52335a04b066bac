"""The clock that all processes share."""

from __future__ import annotations

import asyncio

from bot.store import Store
from bot.store.leases import StoreClock
from tests.waiting import until


async def test_the_clocks_are_compared_again_and_again(store: Store) -> None:
    """A machine's clock may be set while Kaiwa runs."""
    wrong_ms = 0

    def local() -> int:
        return wrong_ms

    clock = StoreClock(store.now_ms, local)
    following = asyncio.create_task(clock.follow(every_s=0.01))
    await until(lambda: clock() > 1_000_000)
    wrong_ms = 5_000_000
    now = await store.now_ms()
    await until(lambda: abs(clock() - now) < 60_000)
    following.cancel()
