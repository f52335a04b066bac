"""Kept deliveries: they leave the outbox for a list of their own, and that list once."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bot.errors import LeaseLost
from bot.store import Lease, Store
from bot.store.keys import ASIDE, KEPT, WORK_S
from tests.bot.store.turns import key, leased, sending

HERE = "line:U0:user:U1"


async def keep(store: Store, lease: Lease, delivery: bytes) -> bytes | None:
    """Commit an answer and keep it; the next delivery."""
    await store.journal.commit(lease, None, [delivery], keep_turns=1)
    return await store.outbox.keep_head(lease, b"too many")


async def test_the_head_of_the_outbox_is_kept(store: Store, redis: Redis) -> None:
    """What stands behind it is next."""
    lease = await sending(store, HERE, b"one", b"two")
    assert await store.outbox.keep_head(lease, b"too many") == b"two"
    assert await store.outbox.kept(HERE) == [b"one"]
    assert await redis.ttl(key("kept", HERE)) == WORK_S


async def test_whoever_has_lost_the_lease_keeps_nothing(store: Store) -> None:
    """The delivery stays in the outbox of the next holder."""
    await sending(store, HERE, b"one")
    with pytest.raises(LeaseLost):
        await store.outbox.keep_head(Lease(HERE, 6_000, "another"), b"too many")
    assert await store.outbox.read(HERE) == [b"one"]


async def test_the_oldest_of_too_many_becomes_a_dead_letter(store: Store) -> None:
    """With its whole delivery, and why."""
    lease = await leased(store, HERE)
    answers = [f"answer {number}".encode() for number in range(KEPT + 1)]
    for answer in answers:
        assert await keep(store, lease, answer) is None
    assert await store.outbox.kept(HERE) == answers[1:]
    [dead] = await store.dead_letters.read()
    assert (dead.conversation, dead.delivery, dead.reason) == (HERE, answers[0], "too many")


async def test_what_has_arrived_is_removed_once(store: Store) -> None:
    """With a reason it becomes a dead letter."""
    lease = await leased(store, HERE)
    for answer in (b"one", b"two"):
        await keep(store, lease, answer)
    for _ in range(2):
        await store.outbox.remove_kept(HERE, b"one")
        assert await store.outbox.kept(HERE) == [b"two"]
    for _ in range(2):
        await store.outbox.remove_kept(HERE, b"two", given_up="refused")
    [dead] = await store.dead_letters.read()
    assert (dead.delivery, dead.reason) == (b"two", "refused")


async def test_a_turn_is_told_that_something_is_kept(store: Store) -> None:
    """With the script that begins it."""
    lease = await leased(store, HERE)
    found = []
    for number in range(2):
        await store.inbox.accept(HERE, f"m{number}", b"hi", ASIDE)
        turn = await store.journal.begin(lease, f"turn-{number}")
        found.append(turn and turn.keeps)
        await keep(store, lease, b"one")
    assert found == [False, True]
