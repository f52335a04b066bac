"""The cache makes a thing once for all who ask, keeps it a while, and forgets failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from tests.waiting import until
from toolset.web.cache import SharedCache


class Maker:
    """Counts its results; waits for an event if asked to."""

    def __init__(self) -> None:
        self.made = 0
        self.error: Exception | None = None
        self.may_finish = asyncio.Event()
        self.may_finish.set()

    async def make(self) -> int:
        self.made += 1
        await self.may_finish.wait()
        if self.error:
            raise self.error
        return self.made


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


Make = Callable[[], Coroutine[None, None, int]]


async def test_a_result_is_made_once_and_kept() -> None:
    """Each key has its own."""
    maker, cache = Maker(), SharedCache[int](600, 10)
    assert [await cache.get(key, maker.make) for key in ("a", "a", "b", "a")] == [1, 1, 2, 1]


async def test_a_result_grows_old() -> None:
    """After its time it is made afresh."""
    maker, clock = Maker(), Clock()
    cache = SharedCache[int](600, 10, clock)
    assert await cache.get("a", maker.make) == 1
    clock.now += 599
    assert await cache.get("a", maker.make) == 1
    clock.now += 1
    assert await cache.get("a", maker.make) == 2


async def test_the_oldest_result_goes_when_there_are_too_many() -> None:
    """Memory stays bounded."""
    maker, cache = Maker(), SharedCache[int](600, 2)
    assert [await cache.get(key, maker.make) for key in ("a", "b", "c", "b", "c", "a")] == [
        1,
        2,
        3,
        2,
        3,
        4,
    ]


async def test_those_who_ask_at_once_share_one_making() -> None:
    """Ten questions cost one request."""
    maker, cache = Maker(), SharedCache[int](600, 10)
    assert await asyncio.gather(*(cache.get("a", maker.make) for _ in range(10))) == [1] * 10


async def test_a_failure_reaches_all_who_wait_and_is_not_kept() -> None:
    """The next question is a fresh attempt."""
    maker, cache = Maker(), SharedCache[int](600, 10)
    maker.error = ValueError("down")
    answers = await asyncio.gather(
        *(cache.get("a", maker.make) for _ in range(3)), return_exceptions=True
    )
    assert answers == [maker.error] * 3
    maker.error = None
    assert await cache.get("a", maker.make) == 2


async def test_one_callers_cancellation_does_not_end_what_others_wait_for() -> None:
    """Not even when the first to ask leaves."""
    maker, cache = Maker(), SharedCache[int](600, 10)
    maker.may_finish.clear()
    first, second = (asyncio.create_task(cache.get("a", maker.make)) for _ in range(2))
    await until(lambda: maker.made == 1)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    maker.may_finish.set()
    assert await second == 1


async def test_a_failure_nobody_waits_for_any_more_is_forgotten_quietly() -> None:
    """Neither cached nor reported as an exception that was never retrieved."""
    maker, cache = Maker(), SharedCache[int](600, 10)
    maker.error = ValueError("down")
    maker.may_finish.clear()
    only = asyncio.create_task(cache.get("a", maker.make))
    await until(lambda: maker.made == 1)
    only.cancel()
    with pytest.raises(asyncio.CancelledError):
        await only
    maker.may_finish.set()
    maker.error = None
    assert await cache.get("a", maker.make) == 1


async def test_a_late_failure_does_not_take_a_newer_result_along() -> None:
    """The key may have been made again meanwhile."""
    old, new, clock = Maker(), Maker(), Clock()
    cache = SharedCache[int](600, 10, clock)
    old.may_finish.clear()
    old.error = ValueError("late")
    waiting = asyncio.create_task(cache.get("a", old.make))
    await until(lambda: old.made == 1)
    clock.now += 600
    assert await cache.get("a", new.make) == 1
    old.may_finish.set()
    with pytest.raises(ValueError, match="late"):
        await waiting
    assert await cache.get("a", new.make) == 1
