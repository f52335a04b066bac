"""A Redis that allows twenty connections is enough for web and worker apart, however many people
talk at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from redis.asyncio import Redis

from tests.fixtures_store import redis_server
from tests.process.kaiwa_process import WORKING, kaiwa
from tests.waiting import until

ALLOWED = 20
PEOPLE = 60


@pytest.fixture
def small_redis() -> Iterator[str]:
    """A Redis that lets in no more than it must."""
    with redis_server("--maxclients", str(ALLOWED)) as url:
        yield url


class Watch:
    """How many connections a Redis has had at most, its own included."""

    most = 0


@asynccontextmanager
async def watched(redis: Redis) -> AsyncIterator[Watch]:
    """Count connections while the context is open."""
    watch, is_over = Watch(), asyncio.Event()

    async def count() -> None:
        while not is_over.is_set():
            watch.most = max(watch.most, len(await redis.client_list()))
            await asyncio.sleep(0.005)

    counting = asyncio.create_task(count())
    try:
        yield watch
    finally:
        is_over.set()
        await counting


async def ask(http: httpx.AsyncClient, person: int) -> None:
    """Ask by the page of one person."""
    question = {"text": f"What is {person} + 1000?"}
    assert (
        await http.post(f"/console/person-{person:04}/messages", json=question)
    ).status_code == 202


async def is_answered(http: httpx.AsyncClient, person: int) -> bool:
    """Whether a person has got their own answer."""
    *_, last = (await http.get(f"/console/person-{person:04}")).json()["messages"]
    return last["role"] == "model" and str(person + 1000) in last["text"]


async def test_web_and_worker_together_stay_below_twenty_connections(
    tmp_path: Path, small_redis: str
) -> None:
    """Sixty conversations at once, somebody watching one: all answered, nobody turned away by
    Redis."""
    async with (
        Redis.from_url(small_redis, max_connections=1) as redis,
        kaiwa(tmp_path, "run", "--no-worker", REDIS_URL=small_redis) as web,
        kaiwa(tmp_path, "worker", ready=WORKING, REDIS_URL=small_redis) as worker,
        httpx.AsyncClient(base_url=web.base_url) as http,
        http.stream("GET", "/console/person-0000/events"),
    ):
        async with watched(redis) as watch:
            await asyncio.gather(*(ask(http, person) for person in range(PEOPLE)))
            await until(lambda: worker.output.count('"event": "turn.answered"') == PEOPLE, 30)
            assert all([await is_answered(http, person) for person in range(PEOPLE)])
        stats = await redis.info("stats")
    assert watch.most <= ALLOWED
    assert stats["rejected_connections"] == 0
    assert "ConnectionError" not in web.output + worker.output
