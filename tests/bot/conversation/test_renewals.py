"""Leases kept together: renewed while work goes on under them, and no longer."""

from __future__ import annotations

import asyncio
import time

import pytest
from redis.asyncio import Redis

from bot.conversation.renewals import RENEW_EVERY_S, Renewals
from bot.errors import LeaseLost, StoreUnavailable
from bot.store import Lease, Store
from tests.bot.store.turns import key
from tests.waiting import until, until_true

SHORT_MS = 2_500  # is over before a third renewal, were there none


@pytest.mark.long
async def test_many_leases_outlive_their_time(store: Store) -> None:
    """In as many requests as there are shards; afterwards they run out."""
    asked: list[int] = []
    renew_each = store.leases.renew_each

    async def counted(leases: list[Lease]) -> list[Lease]:
        asked.append(len(leases))
        return await renew_each(leases)

    store.leases.renew_each = counted  # type: ignore[assignment,method-assign]  # the real one, counted
    renewals, ended = Renewals(store), asyncio.Event()

    async def work(name: str) -> None:
        lease = await store.leases.acquire(name, SHORT_MS)
        assert lease is not None
        async with renewals.hold(lease, time.monotonic()):
            await ended.wait()
        await store.leases.renew(lease)

    working = [asyncio.create_task(work(f"console:{number}")) for number in range(100)]
    await until(lambda: sum(asked) >= 300)
    assert len(asked) <= 16 * 4
    ended.set()
    await asyncio.gather(*working)


@pytest.mark.long
async def test_a_lost_lease_ends_the_work_under_it(store: Store, redis: Redis) -> None:
    """Others of the same shard go on."""
    renewals, ended = Renewals(store), asyncio.Event()
    lost, kept = [await store.leases.acquire("console:a", SHORT_MS), await store.leases.acquire("console:b", SHORT_MS)]
    assert lost is not None
    assert kept is not None

    async def work(lease: Lease) -> None:
        async with renewals.hold(lease, time.monotonic()):
            await ended.wait()

    working = asyncio.create_task(work(kept))
    await redis.delete(key("lease", "console:a"))
    with pytest.raises(LeaseLost):
        await work(lost)
    assert not working.done()
    ended.set()
    await working


async def test_a_limit_of_the_works_own_is_no_lost_lease(store: Store) -> None:
    """It passes as it is."""
    lease = await store.leases.acquire("console:a")
    assert lease is not None
    with pytest.raises(TimeoutError):
        async with Renewals(store).hold(lease, time.monotonic()), asyncio.timeout(0):
            await asyncio.Event().wait()


@pytest.mark.long
async def test_work_goes_on_while_the_store_is_away(store: Store) -> None:
    """What it writes is fenced in any case; the lease is renewed when the store is back."""
    tries = 0
    renew_each = store.leases.renew_each

    async def away_once(leases: list[Lease]) -> list[Lease]:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise StoreUnavailable("away")
        return await renew_each(leases)

    store.leases.renew_each = away_once  # type: ignore[assignment,method-assign]  # the real one, failing once
    lease = await store.leases.acquire("console:a")
    assert lease is not None
    async with Renewals(store).hold(lease, time.monotonic()):
        await until(lambda: tries == 3)
    await until_true(lambda: _renewed(store, lease))


@pytest.mark.long
async def test_a_lease_that_its_last_request_has_released_is_not_lost(store: Store) -> None:
    """Not even where a renewal that was under way is answered first."""
    asked, released, answered = asyncio.Event(), asyncio.Event(), asyncio.Event()
    renew_each = store.leases.renew_each

    async def late(leases: list[Lease]) -> list[Lease]:
        asked.set()
        await released.wait()
        lost = await renew_each(leases)
        asyncio.get_running_loop().call_soon(answered.set)
        return lost

    store.leases.renew_each = late  # type: ignore[assignment,method-assign]  # the real one, made to wait
    renewals = Renewals(store)
    lease = await store.leases.acquire("console:a")
    assert lease is not None
    async with renewals.hold(lease, time.monotonic()):
        await asked.wait()
        with renewals.pause(lease):
            await store.leases.release(lease)
            released.set()
            await answered.wait()
            await asyncio.sleep(0)  # a limit that has been moved to now would end the work here


@pytest.mark.long
async def test_after_a_request_that_did_not_release_it_a_lease_is_renewed_again(store: Store) -> None:
    """Even where the request lasted so long that there was nothing to renew."""
    renewed = asyncio.Event()
    renew_each = store.leases.renew_each

    async def told(leases: list[Lease]) -> list[Lease]:
        lost = await renew_each(leases)
        renewed.set()
        return lost

    store.leases.renew_each = told  # type: ignore[assignment,method-assign]  # the real one, which tells of it
    renewals = Renewals(store)
    lease = await store.leases.acquire("console:a")
    assert lease is not None
    async with renewals.hold(lease, time.monotonic()):
        with renewals.pause(lease):
            await asyncio.sleep(RENEW_EVERY_S * 1.1)
        await asyncio.wait_for(renewed.wait(), 10)


async def _renewed(store: Store, lease: Lease) -> bool:
    await store.leases.renew(lease)
    return True
