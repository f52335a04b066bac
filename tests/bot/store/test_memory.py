"""A full store: the largest histories are shortened, the oldest first, and no turn is disturbed."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis

from bot.errors import StoreUnavailable
from bot.store import MemoryUse, Store
from bot.store.memory import ENOUGH
from tests.bot.pipeline.full_store import TURN_BYTES, TURNS, at_most, fill, lengths
from tests.bot.store.turns import key

MANY = 60
# The buffers of connections come and go between two looks.
ROOM = ENOUGH + 0.005


async def test_a_store_without_a_limit_is_never_tight(store: Store, redis: Redis) -> None:
    """There is nothing it could be measured by."""
    limit = (await redis.config_get("maxmemory"))["maxmemory"] or "0"
    await redis.config_set("maxmemory", 0)
    memory = await store.memory.measure()
    await redis.config_set("maxmemory", limit)
    assert memory.used > 0
    assert (memory.limit, memory.ratio, memory.is_tight) == (0, 0.0, False)


@pytest.mark.parametrize(("used", "is_tight"), [(79, False), (80, True), (120, True)])
def test_four_fifths_are_tight(used: int, is_tight: bool) -> None:
    """A fifth is left for what comes in until the next look."""
    assert MemoryUse(used, 100).is_tight is is_tight


async def test_what_counts_is_what_the_server_counts(store: Store, redis: Redis) -> None:
    """Full is when it refuses to write."""
    await fill(redis, 20)
    async with at_most(redis, 1.02):
        assert (await store.memory.measure()).ratio > 1
        with pytest.raises(StoreUnavailable, match="OutOfMemory"):
            await store.inbox.accept("console:new", "m1", b"hello")
    async with at_most(redis, 0.95):
        assert (await store.memory.measure()).ratio < 1
        assert await store.inbox.accept("console:new", "m1", b"hello")


async def test_of_equal_histories_the_oldest_are_halved_until_there_is_room(
    store: Store, redis: Redis
) -> None:
    """Whole turns go, the oldest of each; newer conversations keep all of theirs."""
    conversations = await fill(redis, MANY)
    async with at_most(redis, 0.82):
        relief = await store.memory.make_room()
        assert (await store.memory.measure()).ratio < ROOM
    short = len(relief)
    assert 0 < short < MANY
    assert relief == dict.fromkeys(conversations[:short], TURNS // 2)
    assert await lengths(redis, conversations) == [TURNS // 2] * short + [TURNS] * (MANY - short)
    left = await store.history.read(conversations[0], TURNS)
    assert left == [f"{turn}".ljust(TURN_BYTES).encode() for turn in range(TURNS // 2, TURNS)]


async def test_the_largest_histories_give_way_and_nobody_elses(store: Store, redis: Redis) -> None:
    """However old the small ones are, and however many turns they have."""
    small = await fill(redis, MANY)
    large = [f"console:large-{number}" for number in range(3)]
    for conversation in large:
        await redis.rpush(key("history", conversation), *["x" * 40 * TURN_BYTES] * 5)
        await redis.expire(key("history", conversation), 60 * 86_400)
    async with at_most(redis, 0.99):
        relief = await store.memory.make_room()
        assert (await store.memory.measure()).ratio < ROOM
    assert set(relief) == set(large)
    assert set(await lengths(redis, small)) == {TURNS}
    assert set(await lengths(redis, large)) <= {1, 2, 3}


@pytest.mark.parametrize("large", [2, 30])
async def test_who_takes_more_than_a_share_pays_alone(
    store: Store, redis: Redis, large: int
) -> None:
    """Also with one turn each, and also if they are as many as the others, whose histories are far
    smaller."""
    small = await fill(redis, large)
    hogs = [f"console:hog-{number}" for number in range(large)]
    for age, conversation in enumerate(hogs):  # the last one is the newest
        await redis.rpush(key("history", conversation), "x" * 100 * TURN_BYTES)
        await redis.expire(key("history", conversation), 60 * 86_400 + age)
    async with at_most(redis, 0.82):
        relief = await store.memory.make_room()
        assert (await store.memory.measure()).ratio < ROOM
    gone = len(relief)
    assert gone > 0
    assert relief == dict.fromkeys(hogs[:gone], 1)
    assert set(await lengths(redis, small)) == {TURNS}
    assert (await lengths(redis, hogs)).count(0) == gone


async def test_a_peak_costs_half_of_all_histories_at_most(store: Store, redis: Redis) -> None:
    """Something else fills the store; while it stays, the next look takes half of the rest."""
    conversations = await fill(redis, MANY)
    async with at_most(redis, 3.0):
        assert (await store.memory.make_room()).total() == MANY * TURNS // 2
        assert (await store.memory.make_room()).total() == MANY * TURNS // 4
    assert await lengths(redis, conversations) == [TURNS // 4] * MANY


async def test_a_full_store_can_be_relieved(store: Store, redis: Redis) -> None:
    """make_room works where writes are refused, and afterwards messages are accepted again."""
    await fill(redis, MANY)
    async with at_most(redis, 1.05):
        while (await store.memory.measure()).is_tight:
            assert await store.memory.make_room()
        assert await store.inbox.accept("console:new", "m1", b"hello")


async def test_where_nothing_is_left_nothing_is_done(store: Store, redis: Redis) -> None:
    """What fills such a store is not ours to throw away."""
    async with at_most(redis, 0.9):
        assert await store.memory.make_room() == {}


@pytest.mark.long
async def test_more_keys_than_a_page_are_all_looked_at(store: Store, redis: Redis) -> None:
    """Also among other keys; the oldest is found wherever it is."""
    conversations = await fill(redis, 2_100, turns=1)
    await redis.expire(key("history", conversations[777]), 60)
    await redis.rpush(key("history", conversations[777]), "newest")
    async with at_most(redis, 0.76):
        relief = await store.memory.make_room()
    oldest = [conversations[777], *conversations[: len(relief) - 1]]
    assert relief == dict.fromkeys(oldest, 1)
    assert await store.history.read(conversations[777], 2) == [b"newest"]


async def test_notes_are_written_on_a_full_store(store: Store, redis: Redis) -> None:
    """A reply on its way out may need one."""
    async with at_most(redis, 1.5):
        await store.kv.set("pushing", b"1", 60)
        assert await store.kv.incr("count", 60) == 1
        assert await store.kv.get("pushing") == b"1"
