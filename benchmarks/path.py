"""How much of our code a message runs through, from its webhook to the sent reply.

    .venv/bin/python -m benchmarks.path [names]

Each is the second message of a person, to one ``kaiwa run`` with everything on. Counted are our
functions with a name, on all threads; what also runs while nothing comes in is taken off. With
``names`` each module is listed with its functions, and the frames where they stood deepest.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.whole.bench import Bench, bench
from benchmarks.whole.people import line_user, line_webhook, slack_webhook
from benchmarks.whole.store import Store, one_server
from benchmarks.whole.tables import ONE_RUN, heading, table

WINDOW_S = 2.0  # in which a message is long answered
LOOKS, LOOK_S = 500, 0.02

Talk = Callable[[Bench], Awaitable[None]]
Calls = Counter[tuple[str, str]]


class Recording(NamedTuple):
    """What ran in a window: calls by file and function, and the most frames of ours that stood on
    each other, the lowest first."""

    calls: Calls
    deepest: list[str]


async def record(running: Bench, path: Path, talk: Talk | None) -> Recording:
    """What runs in one window, in which somebody talks or nobody does."""
    await asyncio.to_thread(read_recording, running.pids[0], path)
    if talk:
        await talk(running)
    await asyncio.sleep(WINDOW_S)
    noted = json.loads(await asyncio.to_thread(read_recording, running.pids[0], path))
    calls = Counter({(file, name): count for file, name, count in noted["calls"]})
    return Recording(calls, [f"{file}: {name}" for file, name in noted["deepest"]])


def read_recording(pid: int, path: Path) -> str:
    """What a process has noted since it was asked last."""
    path.unlink(missing_ok=True)
    os.kill(pid, signal.SIGUSR1)
    for _ in range(LOOKS):
        if path.exists():
            return path.read_text()
        time.sleep(LOOK_S)
    raise TimeoutError(f"nothing was written to {path}")


async def line_hello(running: Bench) -> None:
    """A text of one and the same person in LINE."""
    await running.exchange(*line_webhook(line_user(1)))


async def slack_hello(running: Bench) -> None:
    """A text of one and the same person in a 1:1 in Slack."""
    await running.exchange(*slack_webhook(1))


async def measure(store: Store, folder: Path) -> dict[str, Recording]:
    """By channel: what its second message ran through, without what runs anyway."""
    path = folder / "recording.json"
    settings = {"RECORDING": str(path), "KAIWA_DATA_DIR": str(folder / "data")}
    command = ("-m", "benchmarks.whole.recorder", "run")
    found: dict[str, Recording] = {}
    async with bench(store, *command, settings=settings) as running:
        for name, talk in (("LINE", line_hello), ("Slack", slack_hello)):
            await talk(running)
            await asyncio.sleep(WINDOW_S)
            idle = await record(running, path, None)
            busy = await record(running, path, talk)
            found[name] = Recording(busy.calls - idle.calls, busy.deepest)
    return found


def modules_of(calls: Calls) -> dict[str, list[str]]:
    """The functions that ran, by file."""
    modules: dict[str, list[str]] = {}
    for file, function in sorted(calls):
        modules.setdefault(file, []).append(function)
    return modules


async def main(*, names: bool) -> None:
    """Measure, and print the table."""
    with TemporaryDirectory() as folder:
        async with one_server(counted=False) as store:
            found = await measure(store, Path(folder))
    rows = []
    for channel, recording in found.items():
        counts = (len(modules_of(recording.calls)), len(recording.calls), recording.calls.total())
        rows.append([f"hello, {channel}", *map(str, counts), str(len(recording.deepest))])
    print(heading("The path of a message", "python -m benchmarks.path", ONE_RUN))
    print(table(("", "modules", "functions", "calls", "frames"), rows))
    if names:
        for channel, recording in found.items():
            print(f"\n{channel}")
            for module, functions in modules_of(recording.calls).items():
                print(f"  {module}: {', '.join(functions)}")
            print(f"\n{channel}, the deepest frames")
            for frame in recording.deepest:
                print(f"  {frame}")


if __name__ == "__main__":
    asyncio.run(main(names="names" in sys.argv[1:]))
