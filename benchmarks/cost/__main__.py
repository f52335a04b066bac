"""Print the table; see the package."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import aiohttp
import uvloop
from redis.asyncio import Redis

from benchmarks.ack import process, up
from benchmarks.cost.platforms import HTTP, Counted, Platforms
from bot.store.embedded import open_embedded
from tests.fakes import line_events, slack_events
from tests.fakes.slack import BOT_TOKEN

PORT = 18_781
WARM_UP = 20
TEXT = "How is the weather in Kyoto today?"
numbers = count(1)

COMMANDS = {
    "Kaiwa": ("-c", "from bot.cli.main import main; main()", "run"),
    "naive": ("-m", "benchmarks.cost.naive", str(PORT)),
}
Webhook = tuple[str, str, bytes, dict[str, str]]  # who waits, path, body, headers


def line_webhook() -> Webhook:
    """A new person's first text in LINE."""
    number = next(numbers)
    token, user = f"{number:032x}", f"U{number:032x}"
    event = line_events.event(place=user, user=user, message=line_events.text_message(TEXT), replyToken=token)
    return (token, "/webhooks/line", *line_events.webhook(event))


def slack_webhook() -> Webhook:
    """A new person's first text in a 1:1 with the app in Slack."""
    number = next(numbers)
    channel, ts = f"D{number:08d}", f"{1_795_000_000 + number}.000100"
    body = slack_events.as_json(slack_events.message(TEXT, ts, channel=channel, user=f"U{number:08d}"))
    return channel, "/webhooks/slack", body, slack_events.signed(body)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a turn, on average.

    Attributes:
        cpu_ms: of the process.
        rate: turns a second.
        writes: to Redis; with one turn at a time each is a request that awaits its answer.
        commands: that Redis ran, those inside scripts included.
        scripts: that Redis ran.
        redis_ms: CPU of Redis.
        calls: to the platform.
    """

    cpu_ms: float
    rate: float
    writes: float
    commands: float
    scripts: float
    redis_ms: float
    calls: float


@dataclass(slots=True)
class Bench:
    """What one process is measured with."""

    platforms: Platforms
    redis: Redis
    redis_pid: int
    counted: Counted
    http: aiohttp.ClientSession

    async def turn(self, webhook: Callable[[], Webhook]) -> None:
        """From the webhook to the answer."""
        who, path, body, headers = webhook()
        answered = self.platforms.answered[who] = asyncio.get_running_loop().create_future()
        async with self.http.post(f"http://127.0.0.1:{PORT}{path}", data=body, headers=headers) as ack:
            assert ack.status == 200, await ack.text()
        async with asyncio.timeout(30):
            await answered
        del self.platforms.answered[who]

    async def cost(self, pid: int, webhook: Callable[[], Webhook], turns: int, at_once: int) -> Cost:
        """Of so many turns."""
        left = iter(range(turns))

        async def one() -> None:
            for _ in left:
                await self.turn(webhook)

        before, started = await self._read(pid), time.perf_counter()
        await asyncio.gather(*(one() for _ in range(at_once)))
        seconds = time.perf_counter() - started
        await asyncio.sleep(1.0)  # what a turn leaves to be done is part of its cost
        cpu, writes, commands, scripts, redis_cpu, calls = (
            (after - first) / turns for after, first in zip(await self._read(pid), before, strict=True)
        )
        return Cost(cpu * 1000, turns / seconds, writes, commands - scripts, scripts, redis_cpu * 1000, calls)

    async def _read(self, pid: int) -> tuple[float, ...]:
        statistics = await self.redis.info("commandstats")
        calls = {name.removeprefix("cmdstat_"): int(stats["calls"]) for name, stats in statistics.items()}
        scripts = sum(calls.get(name, 0) for name in ("eval", "evalsha"))
        own = sum(calls.get(name, 0) for name in ("info", "config|set"))
        to_platform = self.platforms.calls["line"] + self.platforms.calls["slack"]
        return (
            cpu_s(pid),
            self.counted.writes,
            sum(calls.values()) - own,
            scripts,
            cpu_s(self.redis_pid),
            to_platform,
        )


def cpu_s(pid: int) -> float:
    """CPU seconds a process has used."""
    nanoseconds = sum(int(p.read_text().split()[0]) for p in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return nanoseconds / 1e9


@asynccontextmanager
async def bench(name: str) -> AsyncIterator[tuple[Bench, int]]:
    """A bot, its platforms and its Redis."""
    loop = asyncio.get_running_loop()
    platforms = Platforms()
    server = await loop.create_server(lambda: HTTP(platforms.serve), "127.0.0.1", 0, backlog=4096)
    base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with TemporaryDirectory() as folder:
        async with (
            open_embedded(Path(folder)) as url,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
        ):
            redis = Redis.from_url(url)
            info = await redis.info("server")
            counted = Counted(urlsplit(url).path)
            proxy = await asyncio.start_server(counted.connect, "127.0.0.1", 0)
            way = proxy.sockets[0].getsockname()[1]
            settings = {
                "PORT": str(PORT),
                "REDIS_URL": f"redis://127.0.0.1:{way}",
                "GEMINI_API_KEY": "key",
                "MODEL": "gemini:gemini-3.5-flash",
                "GOOGLE_GEMINI_BASE_URL": base,
                "LINE_CHANNEL_SECRET": line_events.SECRET,
                "LINE_CHANNEL_ACCESS_TOKEN": line_events.TOKEN,
                "LINE_API_BASE_URL": base,
                "LINE_DATA_API_BASE_URL": base,
                "SLACK_SIGNING_SECRET": slack_events.SECRET,
                "SLACK_BOT_TOKEN": BOT_TOKEN,
                "SLACK_API_BASE_URL": f"{base}/api/",
                "WTTR_BASE_URL": base,
                "CONSOLE_TOKEN": "benchmark",
            }
            async with process(*COMMANDS[name], **settings) as running:
                await up(PORT, "/readyz")
                await asyncio.sleep(3)  # until the SDKs are loaded
                yield Bench(platforms, redis, info["process_id"], counted, http), running.pid
            proxy.close()
            await redis.aclose()
    server.close()


async def main(turns: int = 400, at_once: int = 32) -> None:
    """Measure each bot in turn."""
    print(f"{'':24}    CPU ms   turns/s  writes  commands in scripts  scripts  Redis ms  calls", flush=True)
    for name in COMMANDS:
        async with bench(name) as (measure, pid):
            for platform, webhook in (("LINE", line_webhook), ("Slack", slack_webhook)):
                for with_tool in (False, True):
                    measure.platforms.with_tool = with_tool
                    await measure.cost(pid, webhook, WARM_UP, 4)
                    for many in (1, at_once):
                        cost = await measure.cost(pid, webhook, turns if many > 1 else turns // 4, many)
                        kind = f"{name} {platform}{' + tool' if with_tool else ''} x{many}"
                        print(
                            f"{kind:24} {cost.cpu_ms:9.2f} {cost.rate:9.0f} {cost.writes:7.1f} {cost.commands:20.1f} "
                            f"{cost.scripts:8.1f} {cost.redis_ms:9.2f} {cost.calls:6.1f}",
                            flush=True,
                        )


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:])))
