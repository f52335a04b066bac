"""A bot in processes of its own, with the platforms, the store and the people around it."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import NamedTuple

import aiohttp

from benchmarks.whole.platforms import Platforms, platforms_here
from benchmarks.whole.processes import KAIWA, calm, cpu_s, family, idle_s, process, up
from benchmarks.whole.store import Store
from tests.fakes import line_events, slack_events
from tests.fakes.slack import BOT_TOKEN
from tests.ports import free_port

TURN_S = 60.0
KEEP_S = 2.0  # an unused connection: servers close theirs after five seconds
LOADING_S = 0.5  # by then a ready process has begun to load the SDKs of the platforms
BASE_URLS = (
    "GOOGLE_GEMINI_BASE_URL",
    "LINE_API_BASE_URL",
    "LINE_DATA_API_BASE_URL",
    "WTTR_BASE_URL",
    "OPEN_METEO_BASE_URL",
    "OPEN_METEO_GEOCODING_BASE_URL",
)
SETTINGS = {
    "GEMINI_API_KEY": "key",
    "MODEL": "gemini:gemini-3.5-flash",
    "LINE_CHANNEL_SECRET": line_events.SECRET,
    "LINE_CHANNEL_ACCESS_TOKEN": line_events.TOKEN,
    "SLACK_SIGNING_SECRET": slack_events.SECRET,
    "SLACK_BOT_TOKEN": BOT_TOKEN,
    "CONSOLE_TOKEN": "token-of-the-benchmark",
}


class Cost(NamedTuple):
    """Of a turn, on average; ``wall_ms`` is the median.

    Attributes:
        cpu_ms: of the bot's processes.
        rate: turns a second.
        wall_ms: until the answer was there.
        requests: writes to Redis; with one turn at a time each is a request that awaits its answer.
        sent: bytes to Redis.
        received: bytes from Redis.
        commands: that Redis ran, those inside scripts included.
        scripts: that Redis ran.
        redis_ms: CPU of Redis, all nodes together.
        busiest_ms: CPU of the node that worked most.
        calls: to the platform.
        others_ms: CPU of this process: the people, the platforms, the proxy.
        idle: share of the machine's cores that nobody used.
    """

    cpu_ms: float
    rate: float
    wall_ms: float
    requests: float
    sent: float
    received: float
    commands: float
    scripts: float
    redis_ms: float
    busiest_ms: float
    calls: float
    others_ms: float
    idle: float


@dataclass(slots=True)
class Bench:
    """What a bot is measured with.

    Attributes:
        ports: of the bot's processes, in turn.
        pids: of all its processes.
    """

    platforms: Platforms
    store: Store
    http: aiohttp.ClientSession
    ports: Iterator[int]
    pids: Sequence[int]

    def address(self) -> str:
        """Of the bot's next process."""
        return f"http://127.0.0.1:{next(self.ports)}"

    async def post(
        self, who: str, path: str, body: bytes, headers: dict[str, str]
    ) -> asyncio.Future[None]:
        """Send a webhook; the answer on the platform sets the future."""
        answered = self.platforms.answered[who] = asyncio.get_running_loop().create_future()
        answered.add_done_callback(lambda _: self.platforms.answered.pop(who))
        async with self.http.post(self.address() + path, data=body, headers=headers) as ack:
            assert ack.status == 200, await ack.text()
        return answered

    async def exchange(self, who: str, path: str, body: bytes, headers: dict[str, str]) -> None:
        """From the webhook to the answer on the platform."""
        answered = await self.post(who, path, body, headers)
        async with asyncio.timeout(TURN_S):
            await answered

    async def cost(self, turns: Iterable[Callable[[], Awaitable[None]]], at_once: int) -> Cost:
        """Of these turns, so many at once."""
        left, walls = iter(turns), list[float]()

        async def one() -> None:
            for turn in left:
                started = time.perf_counter()
                await turn()
                walls.append((time.perf_counter() - started) * 1000)

        asked, used, redis = await self.store.asked(), self._used(), self.store.cpu_s()
        idle, started = idle_s(), time.perf_counter()
        await asyncio.gather(*(one() for _ in range(at_once)))
        seconds = time.perf_counter() - started
        idle = (idle_s() - idle) / seconds / (os.cpu_count() or 1)
        await calm(self.pids)  # what a turn leaves to be done is part of its cost
        cpu, others, calls = (
            (after - before) / len(walls) for after, before in zip(self._used(), used, strict=True)
        )
        nodes = [
            (now - then) * 1000 / len(walls)
            for now, then in zip(self.store.cpu_s(), redis, strict=True)
        ]
        writes, sent, received, commands, scripts = (
            (after - before) / len(walls)
            for after, before in zip(await self.store.asked(), asked, strict=True)
        )
        return Cost(
            cpu_ms=cpu * 1000,
            rate=len(walls) / seconds,
            wall_ms=statistics.median(walls),
            requests=writes,
            sent=sent,
            received=received,
            commands=commands,
            scripts=scripts,
            redis_ms=sum(nodes),
            busiest_ms=max(nodes),
            calls=calls,
            others_ms=others * 1000,
            idle=idle,
        )

    def _used(self) -> tuple[float, float, int]:
        calls = self.platforms.calls
        return cpu_s(self.pids), time.process_time(), calls["line"] + calls["slack"]


def medians(costs: Sequence[Cost]) -> Cost:
    """Field by field."""
    return Cost(*(statistics.median(values) for values in zip(*costs, strict=True)))


@asynccontextmanager
async def bench(
    store: Store,
    *command: str,
    processes: int = 1,
    settings: Mapping[str, str] | None = None,
    program: str = sys.executable,
) -> AsyncIterator[Bench]:
    """A bot, ready for turns.

    Args:
        command: of the program; the bot listens on the variable PORT.
        processes: that many of them, each on a port of its own.
        settings: variables besides those of everything that is on.
    """
    async with AsyncExitStack() as stack:
        platforms, base = await stack.enter_async_context(platforms_here())
        http = await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_S))
        )
        urls = dict.fromkeys(BASE_URLS, base) | {"SLACK_API_BASE_URL": f"{base}/api/"}
        variables = {**SETTINGS, **urls, "REDIS_URL": store.url, **(settings or {})}
        ports = [free_port() for _ in range(processes)]
        started: list[int] = []
        for port in ports:
            running = await stack.enter_async_context(
                process(*command, program=program, **variables, PORT=str(port))
            )
            await up(port, "/readyz")
            started.append(running.pid)
        await asyncio.sleep(LOADING_S)
        pids = [pid for one in started for pid in family(one)]
        await calm(pids)
        yield Bench(platforms, store, http, cycle(ports), pids)


def kaiwa_run(*options: str) -> tuple[str, ...]:
    """The command of ``kaiwa run``."""
    return (*KAIWA, "run", *options)
