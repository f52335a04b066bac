"""The outbox: one delivery after another, and none is dropped without a trace."""

from __future__ import annotations

from typing import Any

from redis.asyncio import Redis

from bot.clock import DAY_S
from bot.store import Bound, Depths, Store
from bot.store.keys import DEAD_LETTERS, DEAD_S, WORK_S
from tests.bot.store.turns import key, leased, sending

HERE = "console:alice"


async def dead_letters(redis: Redis) -> list[dict[bytes, bytes]]:
    """The dead letters of the conversation's shard, oldest first."""
    entries: Any = await redis.xrange(key("dead", HERE))
    return [letter for _, letter in entries]


async def test_only_the_head_is_stored_as_attempted(store: Store) -> None:
    """What stands behind others is attempted later, and has not been."""
    lease = await leased(store, HERE)
    assert await store.journal.commit(
        lease, None, [b"one", b"more"], keep_turns=1, attempted=b"one, attempted"
    )
    assert not await store.journal.commit(
        lease, None, [b"two", b"end"], keep_turns=1, attempted=b"two, attempted"
    )
    assert await store.outbox.read(HERE) == [b"one, attempted", b"more", b"two", b"end"]


async def test_an_attempt_renews_the_time_of_what_waits(store: Store, redis: Redis) -> None:
    """What is still being tried must not fade away."""
    lease = await sending(store, HERE, b"one")
    await redis.expire(key("outbox", HERE), 60)
    await store.outbox.replace_head(lease, b"one, attempted")
    assert await redis.ttl(key("outbox", HERE)) == WORK_S


async def test_a_refused_delivery_becomes_a_dead_letter(store: Store, redis: Redis) -> None:
    """With its conversation and the reason, for thirty days; the next one goes on."""
    lease = await sending(store, HERE, b"\x00one", b"two")
    assert (
        await store.outbox.move_head_to_dead_letters(lease, b"no such user")
        == await store.outbox.head(HERE)
        == b"two"
    )
    assert await store.depths() == Depths(due=1, dead_letters=1)
    assert await dead_letters(redis) == [
        {b"conversation": HERE.encode(), b"delivery": b"\x00one", b"reason": b"no such user"}
    ]
    assert await redis.ttl(key("dead", HERE)) == DEAD_S


async def test_dead_letters_are_bounded(store: Store, redis: Redis) -> None:
    """By number and by age, the oldest go first: a refused token must not fill the store."""
    lease = await leased(store, HERE)
    too_old = await store.now_ms() - 31 * DAY_S * 1000
    await redis.xadd(key("dead", HERE), {"delivery": "ancient"}, id=f"{too_old}-0")
    await store.journal.commit(
        lease, None, [b"%d" % number for number in range(DEAD_LETTERS + 2)], keep_turns=1
    )
    await store.outbox.move_head_to_dead_letters(lease, b"refused")
    assert [letter[b"delivery"] for letter in await dead_letters(redis)] == [b"0"]
    for _ in range(DEAD_LETTERS + 1):
        await store.outbox.move_head_to_dead_letters(lease, b"refused")
    stored = [letter[b"delivery"] for letter in await dead_letters(redis)]
    assert stored == [b"%d" % number for number in range(2, DEAD_LETTERS + 2)]


async def test_a_notice_is_posted_once_and_makes_its_conversation_due(store: Store) -> None:
    """Nobody holds a lease; whoever says the same again adds nothing."""
    assert await store.outbox.post(HERE, "notice_1", b"one")
    assert not await store.outbox.post(HERE, "notice_1", b"one")
    assert await store.outbox.post(HERE, "notice_2", b"two")
    assert await store.leases.due(10) == [HERE]
    lease = await leased(store, HERE)
    assert await store.outbox.head(HERE) == b"one"
    await store.outbox.remove_head(lease)
    assert await store.outbox.head(HERE) == b"two"


async def test_no_more_wait_than_may(store: Store) -> None:
    """One that is turned away may be sent again."""
    assert await store.outbox.post(HERE, "one", b"1", Bound(1))
    assert not await store.outbox.post(HERE, "two", b"2", Bound(1))
    lease = await leased(store, HERE)
    await store.outbox.remove_head(lease)
    assert await store.outbox.post(HERE, "two", b"2", Bound(1))


async def test_no_more_of_one_kind_wait_than_may(store: Store) -> None:
    """Others are taken."""
    for name, is_taken in (("a1", True), ("a2", True), ("a3", False), ("b1", True)):
        assert (
            await store.outbox.post(HERE, name, name.encode(), Bound(9, name[:1].encode(), 2))
            is is_taken
        )
