"""The journal: a turn can be gone on with, whatever happened to the process that began it."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bot.clock import DAY_S
from bot.errors import MessagesChanged
from bot.store import (
    ARRIVAL,
    CHANGE,
    Condition,
    JournalledTurn,
    Store,
)
from bot.store.keys import WORK_S, Entry
from tests.bot.store.turns import begun, join, key, leased, turn_of

HERE = "console:alice"


async def test_a_record_tells_how_much_waits(store: Store) -> None:
    """So that nobody needs to ask for what may join."""
    lease = await begun(store, HERE)
    reported = [await store.journal.record(lease, "said", b"let me look")]
    for number in (2, 3):
        await store.inbox.accept(HERE, f"m{number}", b"more")
        reported.append(await store.journal.record(lease, "result", b"42"))
    assert reported == [0, 1, 2]


async def test_failures_are_counted_by_their_reason_and_rest_longer_each_time(store: Store) -> None:
    """Another reason begins anew; while the turn rests it says until when."""
    lease = await begun(store, HERE)
    now = await store.now_ms()
    reported = [await store.journal.fail(lease, reason, 10_000) for reason in ("A", "A", "A", "B")]
    assert [failures.times for failures in reported] == [1, 2, 3, 1]
    rests = [failures.retry_at - now for failures in reported]
    assert rests == [pytest.approx(wait, abs=2_000) for wait in (10_000, 20_000, 40_000, 10_000)]
    turn = await store.journal.begin(lease, "turn-1")
    assert turn == JournalledTurn(
        "turn-1", 2, [Entry(ARRIVAL, b"one")], not_before=reported[-1].retry_at
    )
    await store.journal.fail(lease, "C", 0)
    rested = await turn_of(store, lease)
    assert rested.not_before == 0


async def test_a_start_that_is_given_back_does_not_count(store: Store) -> None:
    """A shutdown, say; what was given back after a recorded step is not owed either."""
    await store.inbox.accept(HERE, "m1", b"one")
    starts = []
    for number in range(6):
        lease = await leased(store, HERE)
        turn = await turn_of(store, lease)
        starts.append(turn.starts)
        if number == 2:
            await store.journal.record(lease, "said", b"progress")
        await store.leases.release(lease)
    assert starts == [1] * 6


async def test_starts_without_progress_are_counted(store: Store) -> None:
    """A turn that kills its process again and again is known by them; a recorded step begins the
    count anew."""
    await store.inbox.accept(HERE, "m1", b"one")
    lease = await leased(store, HERE)
    counted = []
    for number in range(7):
        turn = await turn_of(store, lease)
        counted.append(turn.starts)
        if number == 3:
            await store.journal.record(lease, "said", b"progress")
    assert counted == [1, 2, 3, 4, 1, 2, 3]


async def test_a_joining_message_is_no_progress(store: Store) -> None:
    """Somebody who keeps writing must not keep a deadly turn alive."""
    lease = await begun(store, HERE)
    await store.inbox.accept(HERE, "m2", b"two")
    assert await join(store, lease) == [b"two"]
    turn = await turn_of(store, lease)
    assert turn.starts == 2


async def test_work_is_kept_for_a_week_and_history_for_its_days(store: Store, redis: Redis) -> None:
    """Each step renews the journal's time, each turn the history's."""
    lease = await begun(store, HERE)
    journal = (key("turn", HERE), key("journal", HERE))
    assert [await redis.ttl(name) for name in journal] == [WORK_S, WORK_S]
    for step in (store.journal.join(lease, []), store.journal.record(lease, "said", b"hello")):
        for name in journal:
            await redis.expire(name, 60)
        await step
        assert [await redis.ttl(name) for name in journal] == [WORK_S, WORK_S]
    await store.journal.commit(lease, b"turn", [b"reply"], keep_turns=10)
    assert await redis.ttl(key("outbox", HERE)) == WORK_S
    assert await redis.ttl(key("history", HERE)) == 30 * DAY_S


async def test_a_refused_commit_counts_as_a_start_where_nothing_has_joined_since(
    store: Store,
) -> None:
    """A turn that cannot take the change in is given up one day, and one that can goes on."""
    lease = await begun(store, HERE)

    async def starts_after_refusal() -> int:
        with pytest.raises(MessagesChanged):
            await store.journal.commit(lease, b"turn", [], 1, unless=Condition(["m1"]))
        turn = await turn_of(store, lease, "turn-2")
        return turn.starts

    edit = b'{"event":"edited","target":"m1"}'
    await store.inbox.accept(HERE, "e1", edit, CHANGE, changed_id="m1")
    assert [await starts_after_refusal() for _ in range(3)] == [1, 2, 3]
    await join(store, lease)
    await store.inbox.accept(HERE, "e2", edit, CHANGE, changed_id="m1")
    assert await starts_after_refusal() == 1
