"""The history: the newest turns, oldest first, never more than asked for."""

from __future__ import annotations

from redis.asyncio import Redis

from bot.store import Store
from bot.store.keys import HISTORY_BYTES, HISTORY_SHARE
from tests.bot.store.turns import begun, join, key, leased, turn_of

HERE = "console:alice"


async def test_only_the_newest_turns_are_kept(store: Store, redis: Redis) -> None:
    """The commit itself trims, at a turn's edge."""
    lease = await leased(store, HERE)
    for number in range(6):
        await store.journal.commit(lease, b"turn %d" % number, [], keep_turns=3)
    assert await redis.lrange(key("history", HERE), 0, -1) == [b"turn 3", b"turn 4", b"turn 5"]


async def test_a_purged_conversation_keeps_the_turn_under_way_and_what_came_after_it(
    store: Store,
) -> None:
    """What was said is gone at once; a message behind ``/reset`` is a new beginning, and answers
    may be others'."""
    lease = await begun(store, HERE)
    await store.journal.commit(lease, b"turn", [b"reply"], keep_turns=3)
    await store.inbox.accept(HERE, "m2", b"two")
    await store.journal.begin(lease, "turn-2")
    await store.inbox.accept(HERE, "m3", b"three")
    await store.history.purge(lease)
    assert await store.history.read(HERE, 3) == []
    assert await store.outbox.head(HERE) == b"reply"
    going_on = await turn_of(store, lease, "turn-3")
    assert (going_on.turn_id, [entry.body for entry in going_on.entries]) == ("turn-2", [b"two"])
    assert await join(store, lease) == [b"three"]


async def test_erasing_takes_what_is_not_delivered_too_and_the_rest_where_it_is_to_be_whole(
    store: Store,
) -> None:
    """Of the conversation at hand the turn under way stays, for it still has something to say."""
    await store.inbox.accept(HERE, "m1", b"one")
    lease = await leased(store, HERE)
    await store.journal.commit(lease, b"turn", [b"reply"], keep_turns=3)
    assert await store.journal.begin(lease, "turn-1") is not None
    await store.inbox.accept(HERE, "m2", b"two")
    await store.history.erase(lease, whole=False)
    assert (await store.history.read(HERE, 3), await store.outbox.read(HERE)) == ([], [])
    assert [entry.body for entry in await store.journal.read(HERE)] == [b"one"]
    await store.history.erase(lease, [b"back"], whole=True)
    assert (await store.journal.read(HERE), await store.inbox.read(HERE)) == ([], [])
    assert await store.outbox.read(HERE) == [b"back"]
    assert await store.journal.begin(lease, "turn-2") is None


async def test_a_summary_stands_beside_its_turns(store: Store, redis: Redis) -> None:
    """It takes the place of the one before, and lives as long as the history; a purge takes
    both."""
    lease = await leased(store, HERE)
    assert await store.history.recall(HERE, 2) == (b"", [])
    await store.journal.commit(lease, b"one", [], keep_turns=10)
    await store.history.summarise(lease, b"a")
    await store.history.summarise(lease, b"b")
    await redis.expire(key("summary", HERE), 5)
    await store.journal.commit(lease, b"two", [], keep_turns=10)
    assert await store.history.recall(HERE, 1) == (b"b", [b"two"])
    assert await redis.ttl(key("summary", HERE)) == await redis.ttl(key("history", HERE)) > 5
    await store.history.purge(lease)
    assert await store.history.recall(HERE, 2) == (b"", [])


async def test_a_history_is_bounded_in_bytes(store: Store, redis: Redis) -> None:
    """Large turns push the oldest out; the newest stays, however large it is."""
    lease = await leased(store, HERE)
    for number in range(30):
        await store.journal.commit(lease, b"%02d" % number + b"x" * 100_000, [], keep_turns=200)
        assert await size(redis) <= HISTORY_BYTES
    stored = [turn[:2] for turn in await store.history.read(HERE, 200)]
    assert stored == [b"%02d" % number for number in range(30 - len(stored), 30)]
    assert len(stored) >= 8
    await store.journal.commit(lease, b"x" * 2 * HISTORY_BYTES, [], keep_turns=200)
    assert len(await store.history.read(HERE, 200)) == 1


async def test_small_turns_are_never_weighed(store: Store, redis: Redis) -> None:
    """They cannot be too much by their number, and after large ones not more than as much again."""
    lease = await leased(store, HERE, 60_000)
    await store.journal.commit(lease, b"x" * (HISTORY_BYTES - 10_000), [], keep_turns=200)
    await redis.config_resetstat()
    for number in range(205):
        await store.journal.commit(lease, b"x" * HISTORY_SHARE, [], keep_turns=200)
        if number > 195:  # the large one is about to go, for there are too many
            assert sum(map(len, await store.history.read(HERE, 300))) <= 2 * HISTORY_BYTES
    assert len(await store.history.read(HERE, 300)) == 200
    assert "cmdstat_memory|usage" not in await redis.info("commandstats")


async def test_longer_words_for_earlier_turns_are_bounded_too(store: Store, redis: Redis) -> None:
    """Edits cannot make a history grow without end."""
    lease = await leased(store, HERE)
    turns = [b"%02d" % number for number in range(30)]
    for turn in turns:
        await store.journal.commit(lease, turn, [], keep_turns=200)
    for turn in turns:
        await store.history.rewrite(lease, {turn: turn + b"x" * 100_000})
    assert await size(redis) <= HISTORY_BYTES
    assert (await store.history.read(HERE, 1))[0].startswith(b"29x")


async def size(redis: Redis) -> int:
    """Bytes of the history."""
    return await redis.memory_usage(key("history", HERE), samples=0) or 0
