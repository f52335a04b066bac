"""So many new people write at once, half in LINE, half in Slack: what the door answers, and when they are answered.

    .venv/bin/python -m benchmarks.flood [people [connections]]

Three times in one run, over one bundled Valkey: a bare Starlette app that verifies a signature and does one XADD; one
``kaiwa run``, whose model thinks for five seconds; and ``kaiwa run --no-worker``, the door alone. The stand-ins for
LINE, Slack and Gemini are the tests' own, in a process of their own.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from benchmarks.ack import process, up, webhook
from bot.store.embedded import open_embedded
from tests.fakes import line_events, slack_events
from tests.fakes.gemini import KEY
from tests.fakes.slack import BOT_TOKEN

BARE, KAIWA, ALONE, THINKING_S, PATIENCE_S = 18_768, 18_769, 18_770, 5.0, 300.0
SETTINGS = {
    "GEMINI_API_KEY": KEY,
    "MODEL": "gemini:gemini-3.5-flash",
    "LINE_CHANNEL_SECRET": line_events.SECRET,
    "LINE_CHANNEL_ACCESS_TOKEN": line_events.TOKEN,
    "SLACK_SIGNING_SECRET": slack_events.SECRET,
    "SLACK_BOT_TOKEN": BOT_TOKEN,
    "CONSOLE_TOKEN": "benchmark",
    "LOG_LEVEL": "WARNING",
}

Webhook = tuple[str, str, dict[str, str]]  # path, body, headers


@dataclass(slots=True)
class Acks:
    """What the door answered: its statuses, and how long each took, in milliseconds."""

    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        p50, p99 = statistics.median(self.waits), statistics.quantiles(self.waits, n=100)[98]
        statuses = ", ".join(f"{count} x {status}" for status, count in sorted(self.statuses.items()))
        rate = len(self.waits) / self.seconds
        return f"{statuses}; ack p50 {p50:.0f} ms, p99 {p99:.0f} ms, {rate:.0f} a second"


class StandIns:
    """The other process: what it serves, and what people there have seen."""

    def __init__(self, running: asyncio.subprocess.Process) -> None:
        self._running = running

    async def asked(self, question: object) -> Any:
        """One line there, one line back."""
        assert self._running.stdin is not None
        assert self._running.stdout is not None
        self._running.stdin.write(json.dumps(question).encode() + b"\n")
        return json.loads(await self._running.stdout.readline())


@asynccontextmanager
async def stand_ins(people: int) -> AsyncIterator[tuple[StandIns, Any]]:
    """The platforms and the model; each person has one message ready."""
    command = (sys.executable, "-m", "benchmarks.stand_ins")
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=1 << 28)
    try:
        others = StandIns(running)
        yield others, await others.asked({"people": people, "thinking_s": THINKING_S})
    finally:
        running.kill()
        await running.wait()


async def pour(port: int, webhooks: Sequence[Webhook], connections: int) -> Acks:
    """Post each once, as fast as they are answered."""
    acks, left = Acks(), iter(webhooks)

    async def one(http: aiohttp.ClientSession) -> None:
        for path, body, headers in left:
            started = time.perf_counter()
            async with http.post(f"http://127.0.0.1:{port}{path}", data=body.encode(), headers=headers) as answer:
                acks.statuses[answer.status] += 1
            acks.waits.append((time.perf_counter() - started) * 1000)

    started = time.perf_counter()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=connections)) as http:
        await asyncio.gather(*(one(http) for _ in range(connections)))
    acks.seconds = time.perf_counter() - started
    return acks


def cpu_s(pid: int) -> float:
    """CPU seconds a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def bare(url: str, people: int, connections: int) -> None:
    """The floor."""
    async with process("-m", "benchmarks.bare", url, str(BARE)):
        await up(BARE, "/webhooks/line")
        signed = (webhook() for _ in range(people))
        acks = await pour(BARE, [("/webhooks/line", body.decode(), headers) for body, headers in signed], connections)
    print(f"bare app             {acks}", flush=True)


async def flood(url: str, people: int, connections: int, processes: int = 1) -> None:
    """Kaiwa, from the first webhook to the last answer; all webhooks come to the first process."""
    async with AsyncExitStack() as stack:
        others, ready = await stack.enter_async_context(stand_ins(people))
        settings = {**SETTINGS, **ready["addresses"], "REDIS_URL": url}
        running = []
        for port in range(KAIWA, KAIWA + processes):
            start = process("-c", "from bot.cli.main import main; main()", "run", **settings, PORT=str(port))
            running.append(await stack.enter_async_context(start))
            await up(port, "/readyz")
        await asyncio.sleep(3)  # until the SDKs are loaded
        before, started = cpu_s(running[0].pid), time.perf_counter()
        pouring = asyncio.create_task(pour(KAIWA, ready["webhooks"], connections))
        most, seen = 0, {"people": 0, "more_than_once": 0}
        while not (pouring.done() and seen["people"] >= pouring.result().statuses[200]):
            seen = await others.asked("shown")
            most = max(most, seen["in_flight"])
            await asyncio.sleep(0.25)
        seconds, cpu = time.perf_counter() - started, cpu_s(running[0].pid) - before
        print(f"kaiwa run            {await pouring}", flush=True)
        answered = f"{seen['people']} of {people} answered, {seen['more_than_once']} more than once"
        print(f"                     {answered}, after {seconds:.1f} s; {most} in flight; CPU {cpu:.1f} s", flush=True)


async def alone(url: str, people: int, connections: int) -> None:
    """The door without a worker beside it."""
    async with stand_ins(people) as (_, ready):
        settings = {**SETTINGS, **ready["addresses"], "REDIS_URL": url, "PORT": str(ALONE)}
        async with process("-c", "from bot.cli.main import main; main()", "run", "--no-worker", **settings) as running:
            await up(ALONE, "/readyz")
            await asyncio.sleep(3)
            for name, path in (("LINE", "/webhooks/line"), ("Slack", "/webhooks/slack")):
                before = cpu_s(running.pid)
                acks = await pour(ALONE, [one for one in ready["webhooks"] if one[0] == path], connections)
                core = len(acks.waits) / (cpu_s(running.pid) - before)
                print(f"web alone, {name:<5}     {acks}; {core:.0f} a second and core", flush=True)


async def main(people: int = 1_000, connections: int = 64, processes: int = 1) -> None:
    for part in (bare, alone):
        with TemporaryDirectory() as folder:
            async with open_embedded(Path(folder)) as url:
                await part(url, people, connections)
    with TemporaryDirectory() as folder:
        async with open_embedded(Path(folder)) as url:
            await flood(url, people, connections, processes)


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
