"""Leases kept together: renewed while work goes on under them, and no longer."""

from __future__ import annotations

import asyncio
import time

import pytest
import structlog
from redis.asyncio import Redis

from bot.channels import AssertLease, Delivery
from bot.errors import LeaseLost, StoreUnavailable
from bot.providers.scripted import Step
from bot.store import Lease, Store
from bot.store.leases import RENEW_EVERY_S, Renewals
from tests.bot.harness import HERE, Harness, Mailbox
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

    # the real one, counted
    store.leases.renew_each = counted  # type: ignore[assignment,method-assign]
    renewals, ended = Renewals(store.leases), asyncio.Event()

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
    renewals, ended = Renewals(store.leases), asyncio.Event()
    lost, stored = [
        await store.leases.acquire("console:a", SHORT_MS),
        await store.leases.acquire("console:b", SHORT_MS),
    ]
    assert lost is not None
    assert stored is not None

    async def work(lease: Lease) -> None:
        async with renewals.hold(lease, time.monotonic()):
            await ended.wait()

    working = asyncio.create_task(work(stored))
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
        async with Renewals(store.leases).hold(lease, time.monotonic()), asyncio.timeout(0):
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

    # the real one, failing once
    store.leases.renew_each = away_once  # type: ignore[assignment,method-assign]
    lease = await store.leases.acquire("console:a")
    assert lease is not None
    async with Renewals(store.leases).hold(lease, time.monotonic()):
        await until(lambda: tries == 3)
    await until_true(lambda: _renewed(store, lease))


async def test_a_lease_that_the_last_delivery_releases_is_not_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where a renewal that was under way is answered first."""
    monkeypatch.setattr("bot.store.leases.RENEW_EVERY_S", 0.01)
    asked, released, answered = asyncio.Event(), asyncio.Event(), asyncio.Event()
    renew_each, remove_head = store.leases.renew_each, store.outbox.remove_head

    class Waiting(Mailbox):
        async def deliver(
            self, conversation: str, delivery: Delivery, assert_lease: AssertLease
        ) -> int:
            await asked.wait()
            return await super().deliver(conversation, delivery, assert_lease)

    async def renew_late(leases: list[Lease]) -> list[Lease]:
        asked.set()
        await released.wait()
        lost = await renew_each(leases)
        asyncio.get_running_loop().call_soon(answered.set)
        return lost

    async def remove_and_wait(lease: Lease, question_id: str, shown_at: int | None) -> bytes | None:
        following = await remove_head(lease, question_id, shown_at)
        released.set()
        await answered.wait()
        await asyncio.sleep(0)  # a limit that has been moved to now would end the work here
        return following

    # the real one, made to wait
    store.leases.renew_each = renew_late  # type: ignore[assignment,method-assign]
    store.outbox.remove_head = remove_and_wait  # type: ignore[assignment,method-assign]  # likewise
    harness = Harness(store, [Step("Hello!")], Waiting())
    await harness.receive("hi", "m1")
    with structlog.testing.capture_logs() as logged:
        await harness.runner.process(HERE)
    assert harness.box.texts == ["Hello!"]
    assert "lease.lost" not in [entry["event"] for entry in logged]


@pytest.mark.long
async def test_after_a_request_that_did_not_release_it_a_lease_is_renewed_again(
    store: Store,
) -> None:
    """Even where the request lasted so long that there was nothing to renew."""
    asked = asyncio.Event()
    renew_each = store.leases.renew_each

    async def watched(leases: list[Lease]) -> list[Lease]:
        asked.set()
        return await renew_each(leases)

    # the real one, watched
    store.leases.renew_each = watched  # type: ignore[assignment,method-assign]
    renewals = Renewals(store.leases)
    lease = await store.leases.acquire("console:a")
    assert lease is not None
    async with renewals.hold(lease, time.monotonic()):
        with renewals.pause(lease):
            await asyncio.sleep(RENEW_EVERY_S * 1.1)
            assert not asked.is_set()
        await asyncio.wait_for(asked.wait(), 10)


async def _renewed(store: Store, lease: Lease) -> bool:
    await store.leases.renew(lease)
    return True
