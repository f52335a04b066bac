"""Processes of a benchmark: started, read from outside, and ended with all their children."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import aiohttp

from tests.project import ROOT

ENTRY = "from bot.cli.main import main; main()"
KAIWA = ("-c", ENTRY)
PATIENCE_S = 60.0
LOOK_S = 0.15
CALM = 0.15  # of a core
LOOKS = 3  # in a row
SPIN = "import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"


@asynccontextmanager
async def process(
    *command: str, program: str = sys.executable, **variables: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process with these variables only, of Python by default; killed afterwards, its children
    too."""
    running = await asyncio.create_subprocess_exec(
        program,
        *command,
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), **variables},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield running
    finally:
        for pid in family(running.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await running.wait()


@asynccontextmanager
async def cores_awake() -> AsyncIterator[None]:
    """Keep the cores from halting, with processes that give way to all others: what wakes a core
    counts as CPU of the process that is measured, and differs from time to time."""
    async with AsyncExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            await stack.enter_async_context(process("-c", SPIN))
        yield


def family(pid: int) -> list[int]:
    """A process and its descendants, except zombies."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone meanwhile
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                children.setdefault(int(parent), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


async def up(port: int, path: str) -> None:
    """Wait until a server answers."""
    async with asyncio.timeout(PATIENCE_S), aiohttp.ClientSession() as http:
        while True:
            try:
                async with http.get(f"http://127.0.0.1:{port}{path}") as answer:
                    if answer.status in (200, 405):
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.02)


def cpu_s(pids: Iterable[int]) -> float:
    """CPU seconds that processes have used, to the nanosecond; those of threads that have ended are
    missing."""
    schedules = (path for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(int(path.read_text().split()[0]) for path in schedules) / 1e9


def idle_s() -> float:
    """Seconds that the machine's cores have had nothing to do, all together."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (int(fields[4]) + int(fields[5])) / os.sysconf("SC_CLK_TCK")  # idle, iowait


async def calm(pids: Sequence[int]) -> None:
    """Wait until processes do nothing but what they do while nobody writes."""
    calm_looks, used = 0, cpu_s(pids)
    async with asyncio.timeout(PATIENCE_S):
        while calm_looks < LOOKS:
            await asyncio.sleep(LOOK_S)
            before, used = used, cpu_s(pids)
            calm_looks = calm_looks + 1 if used - before < CALM * LOOK_S else 0


def memory_mb(pids: Iterable[int]) -> float:
    """Resident memory of processes."""
    lines = (line for pid in pids for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
