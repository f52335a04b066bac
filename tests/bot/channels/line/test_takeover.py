"""Two processes deliver one answer, because the first was paused for longer than its lease: it is
said once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest

from bot.channels import Delivery, Reply
from bot.errors import LeaseLost
from bot.store import Lease, Store
from bot.transcript import encode
from tests.bot.channels.line.rig import IN_PRIVATE, Rig, open_rig
from tests.bot.store.turns import leased
from tests.fakes.line import LineFake
from tests.waiting import until_true


@pytest.fixture
async def other(fake: LineFake, rig: Rig) -> AsyncIterator[Rig]:
    """Another process, on the same store."""
    async with open_rig(fake, notes=rig.notes) as other:
        yield other


def answer(rig: Rig, token: str, attempt: int) -> Delivery:
    return Delivery(
        "turn_1_1", "turn_1", Reply("Hi!"), encode(rig.address(token)).decode(), attempt
    )


async def deliver(store: Store, rig: Rig, lease: Lease, delivery: Delivery) -> None:
    await rig.line.deliver(IN_PRIVATE, delivery, partial(store.leases.renew, lease))


async def taken_over(store: Store) -> tuple[Lease, Lease]:
    """The lease of a process that slept, and of the one that has the conversation now."""
    lost = await leased(store, IN_PRIVATE, ttl_ms=20)

    async def has_expired() -> bool:
        return await store.leases.acquire(IN_PRIVATE, 1) is not None

    await until_true(has_expired)
    holding: list[Lease] = []

    async def has_been_taken() -> bool:
        holding.extend(lease for lease in [await store.leases.acquire(IN_PRIVATE)] if lease)
        return bool(holding)

    await until_true(has_been_taken)
    return lost, holding[0]


async def test_whoever_has_lost_the_lease_neither_pushes_nor_leaves_a_note_of_it(
    store: Store, fake: LineFake, rig: Rig, other: Rig
) -> None:
    """The first process slept between its record of the attempt and its request, the second dies
    after its reply: the third must find a used token, not a push under way."""
    lost, held = await taken_over(store)
    token = fake.token()
    await deliver(store, other, held, answer(other, token, 2))
    with pytest.raises(LeaseLost):
        await deliver(store, rig, lost, answer(rig, token, 1))
    await deliver(store, other, held, answer(other, token, 3))
    assert [sent.call for sent in fake.sent] == ["reply"]


async def test_whoever_holds_the_lease_may_push(store: Store, fake: LineFake, rig: Rig) -> None:
    """The counterpart: a token that was dead from the beginning costs no answer."""
    lease = await leased(store, IN_PRIVATE)
    await deliver(store, rig, lease, answer(rig, "unknown", 1))
    assert [sent.call for sent in fake.sent] == ["push"]
