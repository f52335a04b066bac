"""Memory of the process with many turns in flight, and of process and store with every
conversation."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import repeat
from typing import NamedTuple

from benchmarks.growth.seeds import write_histories
from benchmarks.whole.bench import Bench, bench, kaiwa_run
from benchmarks.whole.people import line_turn, line_user, line_webhook
from benchmarks.whole.processes import memory_mb
from benchmarks.whole.store import Store, one_server
from tests.waiting import until

IN_FLIGHT = 2_000
BEFORE, PEOPLE = 500, 4_000  # before the first look, and between the two
SEEDED = 50  # conversations of a length in the store
LONG, LONGEST = 100, 1_000  # messages
PATIENCE_S = 120.0
AT_ONCE = 32
CONNECTIONS = 64


class Memory(NamedTuple):
    """What was measured, of one process with everything on.

    Attributes:
        idle_mb: after the start.
        worked_mb: after ``people`` conversations.
        process_kb: that a conversation of one turn adds to the process.
        store_kb: that a conversation of one turn, of LONG and of LONGEST messages adds to the
            store.
        flight_mb: with ``in_flight`` turns at the model.
    """

    people: int
    in_flight: int
    idle_mb: float
    worked_mb: float
    process_kb: float
    store_kb: tuple[float, float, float]
    flight_mb: float

    @property
    def flight_kb(self) -> float:
        """That a turn in flight takes."""
        return (self.flight_mb - self.idle_mb) * 1000 / self.in_flight

    def rows(self) -> list[list[str]]:
        """Of a table: what, and how much."""
        one, long, longest = self.store_kb
        return [
            ["one process, idle, everything on", f"{self.idle_mb:.0f} MB"],
            [f"the same after {self.people:,} conversations", f"{self.worked_mb:.0f} MB"],
            [f"the same with {self.in_flight:,} turns in flight", f"{self.flight_mb:.0f} MB"],
            ["a turn in flight", f"{self.flight_kb:.0f} kB"],
            ["a conversation in the process", f"{self.process_kb:.1f} kB"],
            ["a conversation of one turn in the store", f"{one:.1f} kB"],
            [f"of {LONG} messages", f"{long:.0f} kB"],
            [f"of {LONGEST:,} messages", f"{longest:.0f} kB"],
        ]


async def measure_memory(
    in_flight: int = IN_FLIGHT, before: int = BEFORE, people: int = PEOPLE
) -> Memory:
    """In two processes: one for conversations, one for turns in flight."""
    async with one_server(counted=False) as store, bench(store, *kaiwa_run()) as measuring:
        idle_mb = memory_mb(measuring.pids)
        turn = partial(line_turn, measuring)
        await measuring.cost(repeat(turn, before), AT_ONCE)
        used, resident = await store.used_bytes(), memory_mb(measuring.pids)
        await measuring.cost(repeat(turn, people), AT_ONCE)
        worked_mb = memory_mb(measuring.pids)
        one = (await store.used_bytes() - used) / people / 1000
        store_kb = (one, await stored_kb(store, LONG), await stored_kb(store, LONGEST))
    async with one_server(counted=False) as store, bench(store, *kaiwa_run()) as measuring:
        flight_mb = await flown_mb(measuring, in_flight)
    process_kb = max(0.0, worked_mb - resident) * 1000 / people
    return Memory(before + people, in_flight, idle_mb, worked_mb, process_kb, store_kb, flight_mb)


async def stored_kb(store: Store, messages: int) -> float:
    """What a long conversation takes in the store."""
    used, first = await store.used_bytes(), messages * 1_000_000
    await write_histories(store.nodes[0], map(line_user, range(first, first + SEEDED)), messages)
    return (await store.used_bytes() - used) / SEEDED / 1000


async def flown_mb(measuring: Bench, turns: int) -> float:
    """Memory with all turns at the model at once; then all are answered, once each."""
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
    return most
