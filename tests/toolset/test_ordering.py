"""Calls that want one key hold it one at a time, in the order of the response they stand in."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toolset.contexts import context
from toolset.ordering import OrderedLocks
from toolset.tool import ToolContext


def call(index: int, batch: str = "batch") -> ToolContext:
    """The call at a place in a response."""
    return replace(context(), call_index=index, batch_id=batch, call_id=f"{batch}_{index}")


class Recorder:
    """Takes a few steps of the loop while it holds a key, and notes who does."""

    def __init__(self) -> None:
        self.locks = OrderedLocks()
        self.held: list[str] = []
        self.inside: dict[Hashable, int] = {}
        self.most_at_once = 0

    async def hold(self, key: Hashable, made: ToolContext, steps: int = 1) -> None:
        """Hold the key for so many steps."""
        async with self.locks.hold(key, made):
            assert key not in self.inside, "two calls hold one key"
            self.inside[key] = made.call_index
            self.most_at_once = max(self.most_at_once, len(self.inside))
            self.held.append(made.call_id)
            for _ in range(steps):
                await asyncio.sleep(0)
            del self.inside[key]


@given(st.permutations(range(6)), st.lists(st.integers(0, 3), min_size=6, max_size=6))
@settings(max_examples=50, deadline=None)
async def test_calls_of_a_response_go_in_its_order(started: list[int], steps: list[int]) -> None:
    """However they were started, and however long each takes; afterwards no memory is used."""
    recorder = Recorder()
    await asyncio.gather(*(recorder.hold("a", call(index), steps[index]) for index in started))
    assert recorder.held == [f"batch_{index}" for index in range(6)]
    assert len(recorder.locks) == 0


async def test_different_keys_do_not_wait_for_each_other() -> None:
    """Only what touches the same thing needs an order."""
    recorder = Recorder()
    await asyncio.gather(*(recorder.hold(key, call(0), steps=5) for key in "abc"))
    assert recorder.most_at_once == 3


async def test_a_later_response_waits_until_the_earlier_one_is_through() -> None:
    """First come, first served; a call of the earlier one that joins late still goes before."""
    recorder = Recorder()
    first = asyncio.create_task(recorder.hold("a", call(5, "first"), steps=20))
    await asyncio.sleep(0)
    others = [recorder.hold("a", call(0, "second")), recorder.hold("a", call(1, "second"))]
    waiting = [asyncio.create_task(other) for other in others]
    await asyncio.sleep(0)
    late = asyncio.create_task(recorder.hold("a", call(6, "first")))
    await asyncio.gather(first, *waiting, late)
    assert recorder.held == ["first_5", "first_6", "second_0", "second_1"]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), max_size=6))
@settings(max_examples=100, deadline=None)
async def test_cancelled_calls_leave_the_line_whole(cancelled: list[tuple[int, int]]) -> None:
    """Before they wait, while they wait, when their turn has just come, and while they hold the
    key."""
    recorder = Recorder()
    calls = [asyncio.create_task(recorder.hold("a", call(index))) for index in range(6)]
    gone = set()
    for index, steps in cancelled:
        for _ in range(steps):
            await asyncio.sleep(0)
        recorder.inside.pop("a", None) if calls[index].cancel() and recorder.inside.get(
            "a"
        ) == index else None
        gone.add(index)
    async with asyncio.timeout(5):
        await asyncio.gather(*calls, return_exceptions=True)
    assert {f"batch_{index}" for index in range(6) if index not in gone} <= set(recorder.held)
    assert recorder.held == sorted(recorder.held)
    assert len(recorder.locks) == 0


async def test_a_call_that_fails_lets_the_next_one_in() -> None:
    """What it raised is its own."""
    locks = OrderedLocks()
    with pytest.raises(RuntimeError):
        async with locks.hold("a", call(0)):
            raise RuntimeError
    async with asyncio.timeout(1), locks.hold("a", call(1)):
        assert len(locks) == 1
