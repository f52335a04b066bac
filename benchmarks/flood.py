"""So many new people write at once, half in LINE, half in Slack: what the door answers, and when
they are answered.

    .venv/bin/python -m benchmarks.flood [people [connections [processes]]]

Three times in one run, over one bundled Valkey: a bare Starlette app that verifies a signature and
does one XADD; one
``kaiwa run``, whose model thinks for five seconds; and ``kaiwa run --no-worker``, the door alone.
The stand-ins for LINE, Slack and Gemini are the tests' own, in a process of their own.
"""

from __future__ import annotations

import asyncio
import json
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

from benchmarks.ack import webhook
from benchmarks.whole.bench import LOADING_S, SETTINGS, kaiwa_run
from benchmarks.whole.processes import calm, cpu_s, family, process, up
from benchmarks.whole.tables import ONE_RUN, heading, table
from bot.store.embedded import open_embedded
from tests.fakes.gemini import KEY
from tests.ports import free_port

THINKING_S, PATIENCE_S = 5.0, 120.0
QUIET = {"GEMINI_API_KEY": KEY, "LOG_LEVEL": "WARNING"}

Row = list[str]
Webhook = tuple[str, str, dict[str, str]]  # path, body, headers


@dataclass(slots=True)
class Acks:
    """What the door answered: its statuses, and how long each took, in milliseconds."""

    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)


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
            async with http.post(
                f"http://127.0.0.1:{port}{path}", data=body.encode(), headers=headers
            ) as answer:
                acks.statuses[answer.status] += 1
            acks.waits.append((time.perf_counter() - started) * 1000)

    started = time.perf_counter()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=connections)) as http:
        await asyncio.gather(*(one(http) for _ in range(connections)))
    acks.seconds = time.perf_counter() - started
    return acks


def acked(acks: Acks) -> list[str]:
    """The cells of a table about acknowledgements."""
    p50, p99 = statistics.median(acks.waits), statistics.quantiles(acks.waits, n=100)[98]
    statuses = ", ".join(f"{count:,} × {status}" for status, count in sorted(acks.statuses.items()))
    return [statuses, f"{p50:.0f} / {p99:.0f}", f"{len(acks.waits) / acks.seconds:,.0f}"]


async def bare(url: str, people: int, connections: int) -> list[Row]:
    """The floor."""
    port = free_port()
    async with process("-m", "benchmarks.bare", url, str(port)):
        await up(port, "/webhooks/line")
        signed = (webhook() for _ in range(people))
        acks = await pour(
            port,
            [("/webhooks/line", body.decode(), headers) for body, headers in signed],
            connections,
        )
    return [["bare app: verifies, one XADD", *acked(acks), "", "", ""]]


async def flood(url: str, people: int, connections: int, processes: int = 1) -> list[Row]:
    """Kaiwa, from the first webhook to the last answer; all webhooks come to the first process."""
    async with AsyncExitStack() as stack:
        others, ready = await stack.enter_async_context(stand_ins(people))
        settings = {**SETTINGS, **QUIET, **ready["addresses"], "REDIS_URL": url}
        ports = [free_port() for _ in range(processes)]
        pids = []
        for port in ports:
            running = await stack.enter_async_context(
                process(*kaiwa_run(), **settings, PORT=str(port))
            )
            await up(port, "/readyz")
            pids += family(running.pid)
        await asyncio.sleep(LOADING_S)
        await calm(pids)
        before, started = cpu_s(pids), time.perf_counter()
        pouring = asyncio.create_task(pour(ports[0], ready["webhooks"], connections))
        most, seen = 0, {"people": 0, "more_than_once": 0}
        while not (pouring.done() and seen["people"] >= pouring.result().statuses[200]):
            if time.perf_counter() - started > PATIENCE_S:
                break
            seen = await others.asked("shown")
            most = max(most, seen["in_flight"])
            await asyncio.sleep(0.25)
        seconds, cpu = time.perf_counter() - started, cpu_s(pids) - before
        answered = (
            f"{seen['people']:,}, {seen['more_than_once']} of them twice, after {seconds:.1f} s"
        )
        name = f"`kaiwa run`{f' × {processes}' if processes > 1 else ''}"
        return [[name, *acked(await pouring), answered, f"{most:,}", f"{cpu * 1000 / people:.1f}"]]


async def alone(url: str, people: int, connections: int) -> list[Row]:
    """The door without a worker beside it."""
    port, rows = free_port(), list[Row]()
    async with stand_ins(people) as (_, ready):
        settings = {**SETTINGS, **QUIET, **ready["addresses"], "REDIS_URL": url, "PORT": str(port)}
        async with process(*kaiwa_run("--no-worker"), **settings) as running:
            await up(port, "/readyz")
            await asyncio.sleep(LOADING_S)
            await calm([running.pid])
            for name, path in (("LINE", "/webhooks/line"), ("Slack", "/webhooks/slack")):
                before = cpu_s([running.pid])
                acks = await pour(
                    port, [one for one in ready["webhooks"] if one[0] == path], connections
                )
                used = (cpu_s([running.pid]) - before) * 1000 / len(acks.waits)
                rows.append(
                    [f"`kaiwa run --no-worker`, {name}", *acked(acks), "", "", f"{used:.2f}"]
                )
    return rows


async def main(people: int = 1_000, connections: int = 64, processes: int = 1) -> None:
    """Measure, and print the table."""
    rows: list[Row] = []
    for part in (bare, alone):
        with TemporaryDirectory() as folder:
            async with open_embedded(Path(folder)) as url:
                rows += await part(url, people, connections)
    with TemporaryDirectory() as folder:
        async with open_embedded(Path(folder)) as url:
            rows += await flood(url, people, connections, processes)
    command = f"python -m benchmarks.flood {people} {connections} {processes}"
    print(
        heading(
            (
                f"{people:,} new people at once, {connections} connections, a model of "
                f"{THINKING_S:.0f} s"
            ),
            command,
            ONE_RUN,
        )
    )
    columns = [
        "",
        "statuses",
        "acknowledged, p50 / p99 ms",
        "webhooks/s",
        "answered",
        "in flight at most",
    ]
    print(table([*columns, "CPU ms each"], rows))


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
