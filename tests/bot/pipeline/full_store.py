"""A store that holds much, and may hold little more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis

from tests.bot.store.turns import key
from tests.waiting import until_true

TURNS = 8
TURN_BYTES = 8_000
LIFE_S = 86_400


async def fill(redis: Redis, count: int, turns: int = TURNS) -> list[str]:
    """Histories of as many turns each; the conversations, oldest first."""
    conversations = [f"console:old-{number:04}" for number in range(count)]
    async with redis.pipeline(transaction=False) as pipe:
        for age, conversation in enumerate(reversed(conversations)):
            _ = pipe.rpush(
                key("history", conversation),
                *[f"{turn}".ljust(TURN_BYTES) for turn in range(turns)],
            )
            _ = pipe.expire(key("history", conversation), LIFE_S - age)
        await pipe.execute()
    return conversations


async def lengths(redis: Redis, conversations: list[str]) -> list[int]:
    """How many turns each history has."""
    return [await redis.llen(key("history", conversation)) for conversation in conversations]


@asynccontextmanager
async def at_most(redis: Redis, ratio: float) -> AsyncIterator[None]:
    """Limit the memory so that this share of it is in use."""
    limit = (await redis.config_get("maxmemory"))["maxmemory"] or "0"
    await (
        redis.connection_pool.disconnect()
    )  # the server shrinks a connection's large buffer only after a while

    async def is_freed() -> bool:
        return not (await redis.info("memory"))["lazyfree_pending_objects"]

    await until_true(is_freed, 10)
    memory = await redis.info("memory")
    used = memory["used_memory"] - memory["mem_not_counted_for_evict"]
    await redis.config_set("maxmemory", round(used / ratio))
    try:
        yield
    finally:
        await redis.config_set("maxmemory", limit)
