"""How long LINE waits for its 200 while 500 turns wait for a slow model, beside a bare app that only signs and writes.

    .venv/bin/python -m benchmarks.ack

Both are processes of their own, on the same bundled Valkey, in one run. Each webhook carries one new message of one of
the 500 users whose turns are under way, so every one is a durable write.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

from benchmarks.bare import SECRET
from bot.store.embedded import open_embedded

TURNS = 500
REQUESTS = 3_000
WARM_UP = 5  # requests of each connection that do not count
SLOW_S = 120
KAIWA, BARE = 18_766, 18_767
numbers = count()


def webhook() -> tuple[bytes, dict[str, str]]:
    """A signed LINE webhook with one new message."""
    number = next(numbers)
    event = {
        "type": "message",
        "mode": "active",
        "timestamp": time.time_ns() // 1_000_000,
        "webhookEventId": f"event-{number}",
        "deliveryContext": {"isRedelivery": False},
        "source": {"type": "user", "userId": f"U{number % TURNS:032x}"},
        "replyToken": f"{number:032x}",
        "message": {
            "id": str(10**17 + number),
            "type": "text",
            "text": "How is the weather in Tokyo?",
            "quoteToken": "q",
        },
    }
    body = json.dumps({"destination": "U" + "b" * 32, "events": [event]}).encode()
    signature = base64.b64encode(hmac.new(SECRET, body, hashlib.sha256).digest()).decode()
    return body, {"x-line-signature": signature, "content-type": "application/json"}


@asynccontextmanager
async def process(*command: str, **variables: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A Python process, ended afterwards."""
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        env={"PATH": os.defpath, "PYTHONPATH": str(Path.cwd()), **variables},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield running
    finally:
        running.kill()
        await running.wait()


async def post(http: aiohttp.ClientSession, port: int) -> float:
    """Milliseconds until the 200."""
    body, headers = webhook()
    started = time.perf_counter()
    async with http.post(f"http://127.0.0.1:{port}/webhooks/line", data=body, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
    return (time.perf_counter() - started) * 1000


async def load(port: int, connections: int, requests: int, rate: float = 0) -> list[float]:
    """The waits of so many requests over so many connections, in milliseconds.

    Args:
        rate: requests a second of all connections together; 0: each sends its next as soon as it is answered.
    """
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=connections)) as http:

        async def one(requests: int) -> list[float]:
            waits = []
            for _ in range(requests):
                waits.append(await post(http, port))
                if rate:
                    await asyncio.sleep(max(0.0, connections / rate - waits[-1] / 1000))
            return waits

        await asyncio.gather(*(one(WARM_UP) for _ in range(connections)))
        measured = await asyncio.gather(*(one(requests // connections) for _ in range(connections)))
        return [wait for waits in measured for wait in waits]


async def up(port: int, path: str) -> None:
    """Wait until a server answers."""
    async with aiohttp.ClientSession() as http:
        while True:
            try:
                async with http.get(f"http://127.0.0.1:{port}{path}") as answer:
                    if answer.status in (200, 405):
                        return
            except aiohttp.ClientError:
                await asyncio.sleep(0.02)


async def main() -> None:
    with TemporaryDirectory() as folder:
        async with (
            open_embedded(Path(folder)) as url,
            process("-m", "benchmarks.stub", str(SLOW_S)) as model,
            process("-m", "benchmarks.bare", url, str(BARE)),
        ):
            assert model.stdout is not None
            settings = {
                "PORT": str(KAIWA),
                "REDIS_URL": url,
                "GEMINI_API_KEY": "key",
                "MODEL": "gemini:gemini-2.5-flash",
                "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{int(await model.stdout.readline())}",
                "LINE_CHANNEL_SECRET": SECRET.decode(),
                "LINE_CHANNEL_ACCESS_TOKEN": "token",
                "LINE_API_BASE_URL": "http://127.0.0.1:9",
                "LOG_LEVEL": "WARNING",
            }
            async with process("-c", "from bot.cli.main import main; main()", "run", **settings):
                await up(KAIWA, "/readyz")
                await up(BARE, "/webhooks/line")
                await load(KAIWA, 50, TURNS)
                await asyncio.sleep(8)  # until LINE's SDK is loaded and all turns wait for the model
                for connections, rate in ((1, 0), (64, 1_000), (64, 0)):
                    for name, port in (("bare", BARE), ("Kaiwa", KAIWA)):
                        started = time.perf_counter()
                        waits = await load(port, connections, REQUESTS, rate)
                        reached = len(waits) / (time.perf_counter() - started)
                        p50, p99 = statistics.median(waits), statistics.quantiles(waits, n=100)[98]
                        waited = f"p50 {p50:6.2f} ms  p99 {p99:6.2f} ms"
                        print(f"{connections:>3} connections  {name:<5}  {waited}  {reached:5.0f}/s", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
