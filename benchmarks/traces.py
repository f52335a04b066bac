"""What traces cost: the same turns with nothing traced, with facts, and with words too; and how
long it takes to find one turn that failed.

    python -m benchmarks.traces [turns [at once [rounds [starts]]]]

All three run at the same time, each on its own Redis, and are measured round by round. Two
processes that do the same differ by some percent, so all are started again and again. Beside "off"
stands the median of all rounds' ratios, with the standard error of the starts'.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import chain, islice, repeat
from statistics import median, stdev

import uvloop

from benchmarks.whole.bench import Bench, Cost, bench, kaiwa_run, medians
from benchmarks.whole.people import line_turn
from benchmarks.whole.processes import KAIWA, cores_awake
from benchmarks.whole.store import one_server
from benchmarks.whole.tables import heading, number, table
from bot.features.traces.reading import Wanted, find_turns
from bot.features.traces.records import Fact, Share, encode
from bot.features.traces.store import Change, Traces
from bot.store import open_store
from bot.transcript import Usage

KINDS = {
    "off": {"TRACE_DAYS": "0"},
    "facts": {"TRACE_DAYS": "7", "TRACE_WORDS_HOURS": "0"},
    "facts and words": {"TRACE_DAYS": "7", "TRACE_WORDS_HOURS": "24"},
}
WARM_UP = 200
MODEL = "gemini-3.5-flash"
KEPT = (1_000, 10_000)  # turns, of which one has failed
PEOPLE, APART_MS = 300, 55_000  # between two turns
AT_ONCE = 500  # turns that are written together
COLUMNS = (
    "",
    "CPU ms",
    "beside off",
    "writes to Redis",
    "commands",
    "bytes to Redis",
    "CPU of Redis, ms",
)

Costs = dict[str, list[Cost]]  # by kind


async def measure(turns: int, at_once: int, rounds: int, *, with_tool: bool) -> Costs:
    """The rounds of one start of all kinds."""
    found: Costs = {name: [] for name in KINDS}
    async with AsyncExitStack() as stack:
        benches: dict[str, Bench] = {}
        for name, settings in KINDS.items():
            store = await stack.enter_async_context(one_server())
            starting = bench(store, *kaiwa_run(), settings=settings)
            benches[name] = await stack.enter_async_context(starting)
        order = deque(benches)
        for number_of_turns in (WARM_UP, *repeat(turns, rounds)):
            order.rotate()  # none is always measured first
            for name in order:
                measuring = benches[name]
                measuring.platforms.tool_every = int(with_tool)
                turn = partial(line_turn, measuring)
                cost = await measuring.cost(repeat(turn, number_of_turns), at_once)
                found[name].append(cost)
    return {name: measured[1:] for name, measured in found.items()}


def ratio_to_off(name: str, starts: Sequence[Costs]) -> str:
    """The median of the rounds' ratios, and the standard error of the starts'."""
    ratios = [
        [one.cpu_ms / off.cpu_ms for one, off in zip(costs[name], costs["off"], strict=True)]
        for costs in starts
    ]
    error = stdev(map(median, ratios)) / len(ratios) ** 0.5 if len(ratios) > 1 else 0.0
    return f"{median(chain(*ratios)):.3f} ± {error:.3f}"


async def compare(
    turns: int, at_once: int, rounds: int, starts: int, *, with_tool: bool
) -> list[list[str]]:
    """A row for each kind."""
    found = [await measure(turns, at_once, rounds, with_tool=with_tool) for _ in range(starts)]
    rows = []
    for name in KINDS:
        cost = medians([one for costs in found for one in costs[name]])
        counts = (f"{cost.requests:.1f}", f"{cost.commands:.1f}", number(cost.sent))
        ratio = ratio_to_off(name, found)
        rows.append([name, number(cost.cpu_ms), ratio, *counts, number(cost.redis_ms)])
    return rows


def kept_turns(count: int, now: int) -> Iterator[Change]:
    """Facts of turns with a tool, the newest first; one in the middle has failed."""
    usage = Usage(1_200, 900, 80, 30)
    for nth in range(count):
        who = f"{nth % PEOPLE:016x}"
        failed = nth == count // 2
        facts = [
            Fact("event", 2, "message", "answered", size=24, person=who),
            Fact("request", 10, MODEL, size=12_345),
            Fact("response", 900, MODEL, "tool_use", ms=890, size=2_345, usage=usage),
            Fact("call", 1_000, "get_weather", "ok", ms=90, size=300, id="c1", risk="low"),
            Fact("request", 1_010, MODEL, size=12_845),
            Fact("failure", 2_000, MODEL, "key_refused")
            if failed
            else Fact("response", 2_000, MODEL, "end_turn", ms=890, size=2_345, usage=usage),
            Fact("delivery", 2_010, "line", "delivered", ms=120, size=200, id=f"reply_{nth:x}"),
        ]
        turn, at = f"turn_{nth:x}", now - nth * APART_MS
        outcome = "failed" if failed else "answered"
        share = Share(turn, "a", at, "line", 0, who, who, who, facts, outcome, 2_010)
        stored = encode(share)
        yield Change(share, stored, 0)


async def search(count: int) -> list[str]:
    """Seconds until a turn that has failed is found among others."""
    async with one_server(counted=False) as store, open_store(store.url, history_days=1) as opened:
        traces = Traces(opened, 7)
        turns = kept_turns(count, opened.clock())
        while some := list(islice(turns, AT_ONCE)):
            _ = traces.note_later(some)
            await opened.scripts.ask("PING")
        started = time.perf_counter()
        (turn,) = await find_turns(traces, Wanted(failed=True))
        read = time.perf_counter()
        assert turn.outcome == "failed"
        command = [sys.executable, *KAIWA, "conversations", "--failed", "--since", "7d"]
        variables = {**os.environ, "REDIS_URL": store.url}
        process = await asyncio.create_subprocess_exec(
            *command, env=variables, stdout=asyncio.subprocess.PIPE
        )
        shown, _ = await process.communicate()
        ended = time.perf_counter()
        assert turn.id in shown.decode(), shown
    return [f"{count:,}", f"{read - started:.2f}", f"{ended - read:.2f}"]


async def main(turns: int = 150, at_once: int = 32, rounds: int = 4, starts: int = 8) -> None:
    """Measure, and print the tables."""
    print(heading("What traces cost", "python -m benchmarks.traces"))
    async with cores_awake():
        for with_tool in (False, True):
            for many in (at_once, 1):
                kind = "LINE, one tool" if with_tool else "LINE"
                rows = await compare(turns, many, rounds, starts, with_tool=with_tool)
                print(f"{kind}, {many} at once:\n\n{table(COLUMNS, rows)}", flush=True)
    rows = [await search(count) for count in KEPT]
    print(table(("turns", "to find the one that failed, s", "`kaiwa conversations`, s"), rows))


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:])))
