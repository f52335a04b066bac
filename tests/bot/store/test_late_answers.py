"""Late answers: they leave the outbox for a list of their own, and that list once, when they have
arrived."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bot.errors import LeaseLost
from bot.store import Bound, Lease, Store, StoredLateAnswer
from bot.store.frames import ASIDE
from bot.store.keys import LATE_ANSWERS, WORK_S
from tests.bot.store.turns import key, leased

HERE = "line:U0:user:U1"


async def keep(store: Store, lease: Lease, number: int, asker: str = "U1") -> bytes | None:
    """Commit an answer and keep it; the next delivery."""
    await store.journal.commit(lease, None, [f"answer\n{number}".encode()], keep_turns=1)
    return await store.outbox.keep_head(lease, asker, f"turn_{number}", b"too many")


async def test_the_head_of_the_outbox_is_kept_whole(store: Store, redis: Redis) -> None:
    """What stands behind it is next; a line feed in it is no end."""
    lease = await leased(store, HERE)
    await store.journal.commit(lease, None, [b"one\nmore", b"two"], keep_turns=1)
    assert await store.outbox.keep_head(lease, "U1", "turn_1", b"too many") == b"two"
    assert await store.late_answers.read(HERE) == [
        StoredLateAnswer("U1", "turn_1", b"one\nmore", b"U1 turn_1\none\nmore")
    ]
    assert await redis.ttl(key("late", HERE)) == WORK_S


async def test_whoever_has_lost_the_lease_keeps_nothing(store: Store) -> None:
    """The delivery stays in the outbox of the next holder."""
    lease = await leased(store, HERE)
    await store.journal.commit(lease, None, [b"one"], keep_turns=1)
    lost = Lease(HERE, "another", 6_000)
    with pytest.raises(LeaseLost):
        await store.outbox.keep_head(lost, "U1", "turn_1", b"too many")
    assert await store.outbox.read(HERE) == [b"one"]


async def test_the_oldest_of_too_many_becomes_a_dead_letter(store: Store) -> None:
    """With its whole delivery, and why."""
    lease = await leased(store, HERE)
    for number in range(LATE_ANSWERS + 1):
        assert await keep(store, lease, number) is None
    stored = await store.late_answers.read(HERE)
    assert [one.delivery_id for one in stored] == [
        f"turn_{number}" for number in range(1, LATE_ANSWERS + 1)
    ]
    [dead] = await store.dead_letters.read()
    assert (dead.conversation, dead.delivery, dead.reason) == (HERE, b"answer\n0", "too many")


async def test_what_has_arrived_is_removed_once(store: Store) -> None:
    """By asker and id; with a reason it becomes a dead letter."""
    lease = await leased(store, HERE)
    for number, asker in enumerate(("U1", "U2", "U1")):
        await keep(store, lease, number, asker)
    for _ in range(2):
        await store.late_answers.remove(HERE, "U1", "turn_0")
        await store.late_answers.remove(HERE, "U1", "turn_1")  # that is another person's
    assert [one.delivery_id for one in await store.late_answers.read(HERE)] == ["turn_1", "turn_2"]
    await store.late_answers.remove(HERE, "U1", "turn_2", given_up="refused")
    [dead] = await store.dead_letters.read()
    assert (dead.delivery, dead.reason) == (b"answer\n2", "refused")


async def test_a_turn_is_told_whose_answers_are_late(store: Store) -> None:
    """With the script that begins it."""
    lease = await leased(store, HERE)
    await keep(store, lease, 0)
    await keep(store, lease, 1, "U2")
    await store.inbox.accept(HERE, "m1", b"hi", ASIDE)
    turn = await store.journal.begin(lease, "turn-1")
    assert turn
    assert turn.late_askers == ("U1", "U2")


async def test_no_more_presses_wait_than_may(store: Store) -> None:
    """One that is turned away may be sent again."""
    assert await store.outbox.post(HERE, "one", b"1", Bound(1))
    assert not await store.outbox.post(HERE, "two", b"2", Bound(1))
    lease = await leased(store, HERE)
    await store.outbox.remove_head(lease)
    assert await store.outbox.post(HERE, "two", b"2", Bound(1))


async def test_no_more_presses_of_one_person_wait_than_may(store: Store) -> None:
    """Those of others are taken."""
    for name, is_taken in (("a1", True), ("a2", True), ("a3", False), ("b1", True)):
        assert (
            await store.outbox.post(HERE, name, name.encode(), Bound(9, name[:1].encode(), 2))
            is is_taken
        )
