"""What traces cost: the same turns with nothing traced, with facts, and with words too.

    python -m benchmarks.traces [turns [at once [rounds]]]

All three run at the same time, each on its own Redis, and are measured round by round.
"""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack
from functools import partial
from itertools import repeat

import uvloop

from benchmarks.whole.bench import Bench, Cost, bench, kaiwa_run, medians
from benchmarks.whole.people import line_turn
from benchmarks.whole.store import one_server
from benchmarks.whole.tables import heading, number, table

KINDS = {
    "off": {"TRACE_DAYS": "0"},
    "facts": {"TRACE_DAYS": "7", "TRACE_WORDS_HOURS": "0"},
    "facts and words": {"TRACE_DAYS": "7", "TRACE_WORDS_HOURS": "24"},
}
WARM_UP = 200
COLUMNS = (
    "",
    "CPU ms",
    "beside off",
    "writes to Redis",
    "commands",
    "bytes to Redis",
    "CPU of Redis, ms",
)


async def compare(turns: int, at_once: int, rounds: int, *, with_tool: bool) -> list[list[str]]:
    """A row for each kind."""
    found: dict[str, list[Cost]] = {name: [] for name in KINDS}
    async with AsyncExitStack() as stack:
        benches: dict[str, Bench] = {}
        for name, settings in KINDS.items():
            store = await stack.enter_async_context(one_server())
            starting = bench(store, *kaiwa_run(), settings=settings)
            benches[name] = await stack.enter_async_context(starting)
        for number_of_turns in (WARM_UP, *repeat(turns, rounds)):
            for name, measuring in benches.items():
                measuring.platforms.tool_every = int(with_tool)
                turn = partial(line_turn, measuring)
                cost = await measuring.cost(repeat(turn, number_of_turns), at_once)
                found[name].append(cost)
    costs = {name: medians(measured[1:]) for name, measured in found.items()}
    rows = []
    for name, cost in costs.items():
        ratio = f"{cost.cpu_ms / costs['off'].cpu_ms:.3f}"
        counts = (f"{cost.requests:.1f}", f"{cost.commands:.1f}", number(cost.sent))
        rows.append([name, number(cost.cpu_ms), ratio, *counts, number(cost.redis_ms)])
    return rows


async def main(turns: int = 400, at_once: int = 32, rounds: int = 5) -> None:
    """Measure, and print the tables."""
    print(heading("What traces cost", "python -m benchmarks.traces"))
    for with_tool in (False, True):
        for many in (at_once, 1):
            kind = "LINE, one tool" if with_tool else "LINE"
            share = turns if many > 1 else max(1, turns // 4)
            rows = await compare(share, many, rounds, with_tool=with_tool)
            print(f"{kind}, {many} at once:\n\n{table(COLUMNS, rows)}", flush=True)


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:])))
