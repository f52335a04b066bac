"""Traces take an eighth of the store's memory at most, and less where it is nearly full."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.errors import StoreUnavailable
from bot.features.traces.bounds import Bounds
from bot.features.traces.reading import find_turns
from bot.features.traces.records import Fact, Share, encode
from bot.features.traces.store import HOUR_MS, Change, Traces
from bot.store import Store, open_store
from tests.fixtures_store import redis_server

LIMIT = 20 * 1024 * 1024
SIZE = 100_000


@pytest.fixture
async def small_store() -> AsyncIterator[Store]:
    """A store with a limit."""
    with redis_server("--maxmemory", str(LIMIT)) as url:
        async with open_store(url, history_days=1) as store:
            yield store


async def keep(store: Store, count: int, at: int) -> None:
    """Keep large turns, a millisecond apart."""
    traces = Traces(store, 7)
    for number in range(count):
        turn = f"turn_{at + number}"
        facts = [Fact("event", 0, outcome="x" * SIZE)]
        share = Share(turn, "a", at + number, "line", 0, "c", "p", "u", facts)
        stored = encode(share)
        _ = traces.note_later([Change(share, stored, 0)])
    await store.scripts.ask("PING")


async def kept(store: Store) -> list[int]:
    """When the turns began that are left, the newest first."""
    return [turn.at for turn in await find_turns(Traces(store, 7))]


async def test_the_oldest_go_where_it_is_too_much(small_store: Store) -> None:
    """Of the newest hour too: as few as possible."""
    traces, now = Traces(small_store, 7), small_store.clock() // HOUR_MS * HOUR_MS
    await keep(small_store, 10, now - HOUR_MS)
    await keep(small_store, 30, now)
    await Bounds(small_store, traces, lambda: 24).keep()
    left = await kept(small_store)
    assert len(left) > 20
    assert left == [now + number for number in range(29, 29 - len(left), -1)]
    assert LIMIT / 8 - 2 * SIZE < sum((await traces.hours()).values()) <= LIMIT / 8
    await Bounds(small_store, traces, lambda: 24).keep()
    assert await kept(small_store) == left


async def test_half_goes_where_the_store_is_nearly_full(small_store: Store) -> None:
    """Histories are not shortened for traces."""
    traces, now = Traces(small_store, 7), small_store.clock() // HOUR_MS * HOUR_MS
    await keep(small_store, 20, now)
    await small_store.scripts.ask("SETBIT", "filler", 13 * 1024 * 1024 * 8, 1)
    await Bounds(small_store, traces, lambda: 24).keep()
    assert len(await kept(small_store)) == 10


async def test_a_full_store_still_tells_the_key(small_store: Store) -> None:
    """Else a process that starts then would ask for it again and again, and keep no facts."""
    reading = Traces(small_store, 7).read_key_later()
    await small_store.scripts.ask("PING")
    (replies,) = await reading
    await small_store.scripts.ask("SETBIT", "filler", 19 * 1024 * 1024 * 8, 1)
    with pytest.raises(StoreUnavailable):
        await small_store.scripts.ask("SET", "more", "x")
    again = Traces(small_store, 7).read_key_later()
    await small_store.scripts.ask("PING")
    (repeated,) = await again
    assert repeated[-1] == replies[-1]
