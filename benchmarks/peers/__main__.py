"""Kaiwa beside bots made with other frameworks: cost, time and memory of a turn, and what is kept.

.venv/bin/python -m benchmarks.peers [turns [repetitions]]
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from benchmarks.cost.__main__ import Bot, Costs, compare
from benchmarks.peers.install import CHANNELS, installed, pins
from benchmarks.peers.kept import PEOPLE, Kept, kept
from benchmarks.whole.tables import heading, number, table

AT_ONCE = 32
COSTS = (
    "",
    "CPU ms, 1 at a time",
    f"CPU ms, {AT_ONCE} at once",
    "ms until the answer (p50)",
    "requests to the store",
    "calls to the platform",
)
KEPT = (
    "",
    "memory at rest, MB",
    "killed: answered after the restart",
    "after s",
    "answered once the event came again",
    "of these twice",
    "not killed, event came twice: answered twice",
)


def beside(costs: Costs, at_once: int = AT_ONCE) -> str:
    """A row for each kind of turn and bot; in brackets, how many times Kaiwa's of this run."""
    rows = []
    for kind in dict.fromkeys(kind._replace(at_once=1) for _, kind in costs):
        for name in [name for name, of in costs if of == kind]:
            alone, own_alone = costs[name, kind], costs["Kaiwa", kind]
            many, own_many = (costs[one, kind._replace(at_once=at_once)] for one in (name, "Kaiwa"))
            timed = (
                (alone.cpu_ms, own_alone.cpu_ms),
                (many.cpu_ms, own_many.cpu_ms),
                (alone.wall_ms, own_alone.wall_ms),
            )
            cells = [f"{number(its)} ({its / own:.2f} ×)" for its, own in timed]
            rows.append([f"{kind}: {name}", *cells, f"{alone.requests:.1f}", f"{alone.calls:.1f}"])
    return table(COSTS, rows)


def safety(found: Mapping[tuple[str, str], Kept], people: int = PEOPLE) -> str:
    """A row for each channel and bot."""
    rows = []
    for (name, channel), one in found.items():
        counts = [f"{many} of {people}" for many in (one.answered, one.again, one.twice)]
        seconds = number(one.seconds) if one.seconds else ""
        memory = f"{one.memory_mb:.0f}"
        row = [f"{channel}: {name}", memory, counts[0], seconds, counts[1], str(one.cut_twice)]
        rows.append([*row, counts[2]])
    return table(KEPT, rows)


async def keeping(bots: Mapping[str, Bot]) -> dict[tuple[str, str], Kept]:
    """What each bot keeps in each of its channels."""
    found = {}
    for channel in CHANNELS:
        for name, bot in bots.items():
            if channel in bot.channels:
                found[name, channel] = await kept(bot, channel)
                print(f"{name}, {channel}: killed", file=sys.stderr, flush=True)
    return found


async def main(turns: int = 160, repetitions: int = 3) -> None:
    """Install, measure, and print the tables."""
    with TemporaryDirectory(prefix="peers-") as folder:
        bots, left_out = installed(Path(folder))
        costs = await compare(turns, AT_ONCE, repetitions, beside=bots)
        print(heading("Beside others", f"python -m benchmarks.peers {turns} {repetitions}"))
        print(f"Installed: {', '.join(pins())}.\n")
        print(beside(costs))
        print(safety(await keeping(bots)))
    for reason in left_out:
        print(f"Left out: {reason}")


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:])))
