"""The doctor on the store: what it forgets, how full it is, what waits and what was given up."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis

from bot.checks import CheckResult
from bot.ops.doctor import run_checks
from bot.plugins import open_tools
from bot.settings import Settings
from bot.store import DeadLetter, Depths, MemoryUse, ServerFacts, Store
from bot.store.keys import DEAD_LETTER_STREAMS, DUE_INDEXES
from tests.bot.ops.examining import found, openers
from tests.bot.pipeline.full_store import at_most, fill


async def test_a_store_that_forgets_is_a_warning(settings: Settings, redis_url: str) -> None:
    """Each with the option to set."""
    theirs = settings.model_copy(update={"redis_url": SecretStr(redis_url)})
    async with Redis.from_url(redis_url) as redis:
        await redis.config_set("maxmemory-policy", "allkeys-lru")
        memory, disk = await found(theirs, "memory"), await found(theirs, "disk")
        await redis.config_set("maxmemory-policy", "noeviction")
    assert (memory.result, memory.fix) == ("warning", "set its maxmemory-policy to noeviction")
    assert (disk.result, disk.fix) == ("warning", "set its appendonly to yes")


@pytest.mark.parametrize(
    ("ratio", "result", "words"),
    [
        (0.7, "ok", r"70% of \d+ MiB used"),
        (0.9, "warning", r"90% of \d+ MiB used: histories above their share are shortened"),
        (1.1, "failure", r"110% of \d+ MiB used: new messages are refused"),
    ],
)
async def test_a_store_that_fills_up_is_told_in_time(
    settings: Settings, redis: Redis, ratio: float, result: str, words: str
) -> None:
    """With the two ways to free memory."""
    await fill(redis, 200)  # so much that what the doctor itself needs does not show
    async with at_most(redis, ratio - 0.001):
        room = await found(settings, "memory use")
    assert room.result == result
    assert re.fullmatch(words, room.detail)
    assert room.fix == ("" if result == "ok" else "raise its maxmemory, or lower HISTORY_DAYS")


async def test_without_a_limit_only_the_machine_is_one(settings: Settings, redis_url: str) -> None:
    """Many hosted stores set none and say so."""
    room = await found(
        settings.model_copy(update={"redis_url": SecretStr(redis_url)}), "memory use"
    )
    assert room.result == "ok"
    assert re.fullmatch(r"\d+\.\d MiB used, no limit set", room.detail)


async def test_dead_letters_are_counted(settings: Settings, redis: Redis) -> None:
    """With the newest one's reason and the commands to run; what waits is no matter for the
    operator."""
    await redis.zadd(DUE_INDEXES[3], {"console:a": 1, "console:b": 2})
    assert await found(settings, "work") == CheckResult("ok", "work", "conversations due: 2")
    now = time.time_ns() // 1_000_000
    await redis.xadd(
        DEAD_LETTER_STREAMS[0], {"reason": "the chat is gone"}, id=f"{now - 190_000}-0"
    )
    fix = "kaiwa outbox list shows them, kaiwa outbox retry puts them back"
    assert await found(settings, "dead letters") == CheckResult(
        "warning", "dead letters", "1, the newest 3 min ago: the chat is gone", fix
    )
    await redis.xadd(DEAD_LETTER_STREAMS[7], {"delivery": "x"}, id=f"{now - 130_000}-0")
    assert await found(settings, "dead letters") == CheckResult(
        "warning", "dead letters", "2, the newest 2 min ago: no reason given", fix
    )


async def test_an_old_redis_is_a_failure(settings: Settings) -> None:
    """What we use of Redis 7 is not there."""

    class Old:
        def __init__(self) -> None:
            self.memory = self.dead_letters = self

        async def measure(self) -> MemoryUse:
            return MemoryUse(1, 0)

        async def facts(self) -> ServerFacts:
            return ServerFacts("Redis 6.2.1", 6, "noeviction", append_only=True)

        async def depths(self) -> Depths:
            return Depths(0, 0)

        async def read(self, limit: int) -> list[DeadLetter]:
            return []

        async def now_ms(self) -> int:
            return 0

    @asynccontextmanager
    async def store() -> AsyncIterator[Store]:
        yield cast(Store, Old())

    old = await found(settings, "store", store=store)
    assert (old.result, old.fix) == ("failure", "Redis 7 or newer, or Valkey, is needed")


async def test_a_store_that_is_away_is_a_failure(settings: Settings) -> None:
    """With the variable to look at; the other parts are examined all the same."""
    settings = settings.model_copy(update={"redis_url": SecretStr("redis://127.0.0.1:1")})
    real = openers(settings, tools=lambda: open_tools(settings))
    findings = await run_checks(settings, real)
    assert [finding.name for finding in findings] == [
        *(
            "model",
            "store",
            "tools",
            "weather",
            "Open-Meteo",
            "images",
            "LINE",
            "Slack",
            "port",
            "page",
        )
    ]
    assert findings[1].result == "failure"
    assert findings[1].fix == "check REDIS_URL, and that Redis runs"
