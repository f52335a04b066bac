"""Memory of the process with many turns in flight, and of process and store with every conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from itertools import islice, repeat

from benchmarks.growth.seeds import write_histories
from benchmarks.whole.bench import Bench, bench, kaiwa_run
from benchmarks.whole.people import line_turn, line_user, line_webhook
from benchmarks.whole.processes import memory_mb
from benchmarks.whole.store import Store, one_server
from tests.waiting import until

IN_FLIGHT = 2_000
PEOPLE = (500, 4_000)  # before the first look, and until the second one
SEEDED = 50  # conversations of a length in the store
PATIENCE_S = 120.0
AT_ONCE = 32
CONNECTIONS = 64


async def measure_memory(in_flight: int = IN_FLIGHT, people: Sequence[int] = PEOPLE) -> list[list[str]]:
    """The rows of a table."""
    async with one_server(counted=False) as store, bench(store, *kaiwa_run()) as measuring:
        rows = [["one process, idle, everything on", f"{memory_mb(measuring.pids):.0f}"]]
        rows += await with_conversations(measuring, *people)
        rows += await with_histories(store)
    async with one_server(counted=False) as store, bench(store, *kaiwa_run()) as measuring:
        rows += await with_turns_in_flight(measuring, in_flight)
    return rows


async def with_conversations(measuring: Bench, before: int, more: int) -> list[list[str]]:
    """What each conversation of one turn adds, once the process has its working memory."""
    await measuring.cost(repeat(partial(line_turn, measuring), before), AT_ONCE)
    used, resident = await measuring.store.used_bytes(), memory_mb(measuring.pids)
    await measuring.cost(repeat(partial(line_turn, measuring), more), AT_ONCE)
    stored = await measuring.store.used_bytes() - used
    grown = memory_mb(measuring.pids) - resident
    return [
        [f"the same after {before + more:,} conversations", f"{memory_mb(measuring.pids):.0f}"],
        ["a conversation in the process, of one turn", f"{max(0.0, grown) / more:.4f}"],
        ["a conversation in the store, of one turn", f"{stored / more / 1e6:.4f}"],
    ]


async def with_histories(store: Store) -> list[list[str]]:
    """What a long conversation takes in the store."""
    rows = []
    for place, messages in enumerate((100, 1_000), 1):
        used = await store.used_bytes()
        users = (line_user(number) for number in range(place * 7_000_000, place * 7_000_000 + SEEDED))
        await write_histories(store.nodes[0], islice(users, SEEDED), messages)
        stored = (await store.used_bytes() - used) / SEEDED
        rows.append([f"a conversation in the store, of {messages:,} messages", f"{stored / 1e6:.4f}"])
    return rows


async def with_turns_in_flight(measuring: Bench, turns: int) -> list[list[str]]:
    """All at the model at once; then all are answered, once each."""
    platforms, slots = measuring.platforms, asyncio.Semaphore(CONNECTIONS)

    async def ask() -> asyncio.Future[None]:
        async with slots:
            return await measuring.post(*line_webhook())

    platforms.gate.clear()
    answers = await asyncio.gather(*(ask() for _ in range(turns)))
    await until(lambda: platforms.thinking == turns, PATIENCE_S)
    most = memory_mb(measuring.pids)
    platforms.gate.set()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(*answers)
    assert platforms.more_than_once == 0
    return [[f"one process, {turns:,} turns in flight", f"{most:.0f}"]]
