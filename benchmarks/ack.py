"""How long LINE waits for its 200 while 500 turns wait for a slow model, beside a bare app that
only signs and writes.

    .venv/bin/python -m benchmarks.ack

Both are processes of their own, on the same bundled Valkey, in one run. Each webhook carries one
new message of one of the 500 users whose turns are under way, so every one is a durable write.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import statistics
import time
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp

from benchmarks.bare import SECRET
from benchmarks.whole.bench import kaiwa_run
from benchmarks.whole.processes import process, up
from benchmarks.whole.tables import ONE_RUN, heading, table
from bot.store.embedded import open_embedded
from tests.ports import free_port

TURNS = 500
REQUESTS = 3_000
WARM_UP = 5  # requests of each connection that do not count
SLOW_S = 120
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


async def post(http: aiohttp.ClientSession, port: int) -> float:
    """Milliseconds until the 200."""
    body, headers = webhook()
    started = time.perf_counter()
    async with http.post(
        f"http://127.0.0.1:{port}/webhooks/line", data=body, headers=headers
    ) as answer:
        assert answer.status == 200, await answer.text()
    return (time.perf_counter() - started) * 1000


async def load(port: int, connections: int, requests: int, rate: float = 0) -> list[float]:
    """The waits of so many requests over so many connections, in milliseconds.

    Args:
        rate: requests a second of all connections together; 0: each sends its next as soon as it is
            answered.
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


async def row(name: str, port: int, connections: int, rate: int) -> list[str]:
    """A line of the table."""
    started = time.perf_counter()
    waits = await load(port, connections, REQUESTS, rate)
    reached = len(waits) / (time.perf_counter() - started)
    p50, p99 = statistics.median(waits), statistics.quantiles(waits, n=100)[98]
    asked = f"{rate:,}/s" if rate else "at once"
    return [name, str(connections), asked, f"{p50:.2f}", f"{p99:.2f}", f"{reached:,.0f}"]


async def main() -> None:
    """Measure, and print the table."""
    kaiwa, bare = free_port(), free_port()
    with TemporaryDirectory() as folder:
        async with (
            open_embedded(Path(folder)) as url,
            process("-m", "benchmarks.stub", str(SLOW_S)) as model,
            process("-m", "benchmarks.bare", url, str(bare)),
        ):
            assert model.stdout is not None
            settings = {
                "PORT": str(kaiwa),
                "REDIS_URL": url,
                "GEMINI_API_KEY": "key",
                "MODEL": "gemini:gemini-2.5-flash",
                "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{int(await model.stdout.readline())}",
                "LINE_CHANNEL_SECRET": SECRET.decode(),
                "LINE_CHANNEL_ACCESS_TOKEN": "token",
                "LINE_API_BASE_URL": "http://127.0.0.1:9",
                "LOG_LEVEL": "WARNING",
            }
            async with process(*kaiwa_run(), **settings):
                await up(kaiwa, "/readyz")
                await up(bare, "/webhooks/line")
                await load(kaiwa, 50, TURNS)
                await asyncio.sleep(
                    8
                )  # until LINE's SDK is loaded and all turns wait for the model
                kinds = ((1, 0), (64, 1_000), (64, 0))
                bots = (("bare app", bare), ("Kaiwa", kaiwa))
                rows = [await row(name, port, *kind) for kind in kinds for name, port in bots]
    print(
        heading(
            f"The 200 while {TURNS} turns wait for a model", "python -m benchmarks.ack", ONE_RUN
        )
    )
    print(table(("", "connections", "asked", "p50 ms", "p99 ms", "webhooks/s"), rows))


if __name__ == "__main__":
    asyncio.run(main())
