"""Evictor: makes room in time, in one process at a time, and logs a change of state once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs

from bot.ops.eviction import CLAIM, Evictor
from bot.store import Store, open_store
from tests.bot.pipeline.full_store import TURNS, at_most, fill, lengths
from tests.waiting import until, until_true

MANY = 60


def reported(logs: list[Any]) -> list[tuple[str, str]]:
    return [(entry["log_level"], entry["event"]) for entry in logs]


async def test_a_store_with_room_is_left_alone(store: Store, redis: Redis) -> None:
    """Nothing is shortened, nothing is said."""
    conversations = await fill(redis, MANY)
    async with at_most(redis, 0.7):
        with capture_logs() as logs:
            await Evictor(store).check()
    assert logs == []
    assert set(await lengths(redis, conversations)) == {TURNS}


async def test_the_operator_is_told_once_with_numbers_and_fix(store: Store, redis: Redis) -> None:
    """When it begins and when it is over, not at every look."""
    conversations = await fill(redis, MANY)
    evictor = Evictor(store)
    with capture_logs() as logs:
        async with at_most(redis, 3.0):
            for _ in range(2):
                await evictor.check()
                await store.kv.delete(CLAIM)
        for _ in range(2):
            await evictor.check()
    assert reported(logs) == [
        ("warning", "store.memory_tight"),
        ("info", "store.memory_ok"),
    ]
    spoken = logs[0]
    assert spoken["used_mib"] == pytest.approx(3 * spoken["limit_mib"], rel=0.1)
    assert spoken["histories"] == MANY
    assert spoken["turns"] == MANY * TURNS // 2
    assert len(spoken["conversations"]) == 10
    assert set(spoken["conversations"]) <= set(conversations)
    assert spoken["fix"] == "raise the store's maxmemory, or lower HISTORY_DAYS"


async def test_the_alarm_goes_off_while_the_store_is_tight(store: Store, redis: Redis) -> None:
    """After each make_room; the receiver of the alarm drops repetitions."""
    heard: list[str] = []

    async def alarm(detail: str) -> None:
        heard.append(detail)

    await fill(redis, MANY)
    evictor = Evictor(store, alarm)
    async with at_most(redis, 1.0):
        await evictor.check()
        await evictor.check()
    await evictor.check()
    assert len(heard) == 1
    assert heard[0].endswith("%")


async def test_the_operator_is_told_when_nothing_can_be_done(store: Store, redis: Redis) -> None:
    """Somebody else fills the store."""
    async with at_most(redis, 0.9):
        with capture_logs() as logs:
            await Evictor(store).check()
    assert reported(logs) == [("error", "store.memory_exhausted")]


async def test_one_process_at_a_time(store: Store, redis: Redis) -> None:
    """Two that look at once do the work once, and rest afterwards."""
    conversations = await fill(redis, MANY)
    async with at_most(redis, 3.0):
        await asyncio.gather(Evictor(store).check(), Evictor(store).check())
        await Evictor(store).check()
    # Done again, half of the rest would go.
    assert await lengths(redis, conversations) == [TURNS // 2] * MANY


async def test_it_goes_on_when_the_store_was_away() -> None:
    """A failed check is logged, and the next one is tried."""
    async with open_store("unix:///nowhere/valkey.sock", history_days=1) as away:
        with capture_logs() as logs:
            looking = asyncio.create_task(Evictor(away, every_s=0.01).run())
            await until(lambda: len(logs) >= 2)
            await ended(looking)
    assert set(reported(logs)) == {("warning", "store.memory_unknown")}


async def test_it_looks_by_itself(store: Store, redis: Redis) -> None:
    """Again and again: what fills up later is found too."""
    conversations = await fill(redis, MANY)
    looking = asyncio.create_task(Evictor(store, every_s=0.01).run())

    async def is_shortened() -> bool:
        return (await lengths(redis, conversations))[0] < TURNS

    async with at_most(redis, 0.82):
        await until_true(is_shortened)
    await ended(looking)


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
