"""Print the tables; see the package."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import count, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from benchmarks.growth.memory import measure_memory
from benchmarks.growth.seeds import (
    conversation_of,
    write_conversations,
    write_histories,
    write_tools,
)
from benchmarks.whole.bench import Bench, Cost, bench, kaiwa_run, medians
from benchmarks.whole.people import line_turn, line_user, line_webhook
from benchmarks.whole.store import Store, one_server
from benchmarks.whole.tables import ONE_RUN, heading, number, table
from bot.channels import InboundEvent
from bot.clock import now_ms
from bot.features.forgetting.deletion import Deletion, Forgotten
from bot.store import Store as OpenStore
from bot.store import open_store
from bot.transcript import Author, Message, Text
from tests.bot.harness import Harness

HISTORIES = (1, 100, 1_000)
TOOLS = (1, 50, 500)
CONVERSATIONS = (10, 1_000, 100_000)
FORGETTING = (1_000, 100_000)
TURNS, ROUNDS, AT_ONCE, WARM_UP = 200, 3, 32, 400
SETTLED_S = 3.0
SEEDED = 5_000_000  # people with something in the store have numbers from here on
COLUMNS = (
    "CPU ms",
    "CPU of Redis, ms",
    "commands",
    "bytes to Redis",
    "bytes from Redis",
    "ms until the answer",
)

users = (line_user(number) for number in count(SEEDED))


def cells(cost: Cost) -> list[str]:
    """A cost in the order of ``COLUMNS``."""
    values = (cost.cpu_ms, cost.redis_ms, cost.commands, cost.sent, cost.received, cost.wall_ms)
    return [number(value) for value in values]


async def known_turn(measuring: Bench, user: str) -> None:
    """A turn of somebody who has written before."""
    await measuring.exchange(*line_webhook(user))


async def in_turn(benches: Mapping[str, Bench], turns: int) -> list[list[str]]:
    """The rows of new people's turns with each bot, round by round."""
    found: dict[str, list[Cost]] = {name: [] for name in benches}
    for number_of_turns in (min(WARM_UP, turns), *repeat(turns, ROUNDS)):
        for name, measuring in benches.items():
            turn = partial(line_turn, measuring)
            found[name].append(await measuring.cost(repeat(turn, number_of_turns), AT_ONCE))
    return [[name, *cells(medians(costs[1:]))] for name, costs in found.items()]


async def with_history(turns: int = TURNS, sizes: Iterable[int] = HISTORIES) -> list[list[str]]:
    """One turn of each person, after so many messages; the sizes take turns in one process."""
    costs: dict[int, list[Cost]] = {size: [] for size in sizes}
    async with one_server() as store, bench(store, *kaiwa_run()) as measuring:
        await measuring.cost(repeat(partial(line_turn, measuring), min(WARM_UP, turns)), AT_ONCE)
        for _ in range(ROUNDS):
            for size, found in costs.items():
                people = list(islice(users, turns))
                await write_histories(store.nodes[0], people, size)
                known: list[Callable[[], Awaitable[None]]] = [
                    partial(known_turn, measuring, user) for user in people
                ]
                found.append(await measuring.cost(known, AT_ONCE))
    return [
        [f"{size:,} messages of history", *cells(medians(found))] for size, found in costs.items()
    ]


async def with_tools(turns: int = TURNS, sizes: Iterable[int] = TOOLS) -> list[list[str]]:
    """New people's turns with so many tools besides Kaiwa's own; the model calls none."""
    async with AsyncExitStack() as stack:
        benches = {}
        for size in sizes:
            folder = stack.enter_context(TemporaryDirectory())
            write_tools(Path(folder), size)
            store = await stack.enter_async_context(one_server())
            opened = bench(store, *kaiwa_run(), settings={"TOOLS_DIR": folder})
            benches[f"{size:,} tools besides Kaiwa's own"] = await stack.enter_async_context(opened)
        return await in_turn(benches, turns)


async def with_conversations(
    turns: int = TURNS, sizes: Iterable[int] = CONVERSATIONS
) -> list[list[str]]:
    """New people's turns while the store holds the conversations of so many others."""
    async with AsyncExitStack() as stack:
        benches = {}
        for size in sizes:
            store = await stack.enter_async_context(one_server(large=True))
            await write_conversations(store.nodes[0], islice(users, size))
            name = f"{size:,} conversations in the store"
            benches[name] = await stack.enter_async_context(bench(store, *kaiwa_run()))
        for measuring in benches.values():
            await settled(measuring.store)
        return await in_turn(benches, turns)


async def forget(store: OpenStore, user: str) -> Forgotten:
    """What one wish to be forgotten does."""
    wish = Message("wish", "user", (Text("/forget me"),), now_ms(), Author(user))
    lease = await store.leases.acquire(conversation_of(user))
    assert lease is not None
    return await Deletion(Harness(store, []).runner.services).forget(lease, InboundEvent(wish))


async def forgetting(sizes: Iterable[int] = FORGETTING) -> list[list[str]]:
    """What the store does for one ``/forget me``, called from this process."""
    rows, held = [], 0
    async with (
        one_server(counted=False, large=True) as store,
        open_store(store.url, history_days=1) as erasing,
    ):
        for size in sizes:
            people = list(islice(users, size - held))
            held = size
            await write_conversations(store.nodes[0], people)
            started, used, redis = time.perf_counter(), time.process_time(), store.cpu_s()[0]
            assert await forget(erasing, people[0]) == Forgotten(1, 2)
            spent = (
                time.perf_counter() - started,
                time.process_time() - used,
                store.cpu_s()[0] - redis,
            )
            rows.append(
                [f"{size:,} conversations in the store", *(f"{seconds:.3f}" for seconds in spent)]
            )
    return rows


async def settled(store: Store) -> None:
    """Wait until Redis has rewritten its append-only file, as it does after much was written."""
    await asyncio.sleep(SETTLED_S)
    # another process
    while (await store.nodes[0].info("persistence"))["aof_rewrite_in_progress"]:  # noqa: ASYNC110
        await asyncio.sleep(0.2)


async def main(parts: Sequence[str]) -> None:
    """Measure, and print the tables."""
    measured = {"history": with_history, "tools": with_tools, "conversations": with_conversations}
    rows: list[list[str]] = []
    for name, measure in measured.items():
        if name in parts:
            rows += await measure()
            print(f"{name}: measured", file=sys.stderr, flush=True)
    if rows:
        print(heading("How a turn grows", "python -m benchmarks.growth"))
        print(table(("LINE, 32 turns at once", *COLUMNS), rows), flush=True)
    if "forgetting" in parts:
        print(heading("One /forget me", "python -m benchmarks.growth forgetting", ONE_RUN))
        print(table(("", "s", "CPU of Kaiwa, s", "CPU of Redis, s"), await forgetting()))
    if "memory" in parts:
        print(heading("Memory", "python -m benchmarks.growth memory", ONE_RUN))
        print(table(("", "resident memory, or the store's"), (await measure_memory()).rows()))


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1:] or ("history", "tools", "conversations", "forgetting", "memory")))
