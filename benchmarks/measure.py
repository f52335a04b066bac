"""How loops are compared: in turn, round after round in one run, by the CPU time of this process
alone.

Other work on the machine makes a round slower, for each loop alike; the medians' ratio is what is
told.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from benchmarks.task import Turn

WARM_UP = 10  # turns


class Cost(NamedTuple):
    """Medians of one loop: CPU milliseconds a turn, and milliseconds until a turn was over."""

    cpu_ms: float
    wall_ms: float


@asynccontextmanager
async def process(module: str) -> AsyncIterator[str]:
    """The address of a server that is a module of ours, a process of its own, which prints its
    port."""
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert running.stdout is not None
    assert running.stdin is not None
    yield f"http://127.0.0.1:{int(await running.stdout.readline())}"
    running.stdin.close()
    await running.wait()


async def compare(
    loops: Mapping[str, Turn], at_once: int, turns: int, rounds: int
) -> dict[str, Cost]:
    """What a turn of each loop costs, so many at once.

    Args:
        turns: of each loop in each round.
    """
    for turn in loops.values():
        for _ in range(WARM_UP):
            await turn()
    cpu: dict[str, list[float]] = {name: [] for name in loops}
    walls: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(rounds):
        for name, turn in loops.items():
            started = time.process_time()
            for _ in range(turns // at_once):
                walls[name] += await asyncio.gather(*(_timed(turn) for _ in range(at_once)))
            cpu[name].append((time.process_time() - started) * 1000 / turns)
    return {
        name: Cost(statistics.median(cpu[name]), statistics.median(walls[name])) for name in loops
    }


async def _timed(turn: Turn) -> float:
    started = time.perf_counter()
    await turn()
    return (time.perf_counter() - started) * 1000
