"""What begins when: as the event loop has room, in order, nothing twice."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager

from bot.tasks import run_beside
from bot.worker import MAX_ROUNDS, SHORT_ROUND_S, PacedQueue, Process
from tests.waiting import until


def running(queue: PacedQueue, begin: Process) -> AbstractAsyncContextManager[None]:
    """Begin what waits while the context is open."""
    return run_beside(queue.run(begin))


class Turns:
    """Remembers who began; each goes on until the gate opens."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.gate = asyncio.Event()

    async def __call__(self, conversation: str, _author: str) -> None:
        self.begun.append(conversation)
        await self.gate.wait()


async def test_those_that_wait_longest_begin_first() -> None:
    """Each once, however often it is named."""
    queue, turns = PacedQueue(100), Turns()
    for name in ("a", "b", "a", "c", "b"):
        queue.add(name)
    async with running(queue, turns):
        await queue.empty.wait()
        await until(lambda: turns.begun == ["a", "b", "c"])


async def test_no_more_at_once_than_allowed() -> None:
    """The next begins when one has ended."""
    queue, turns = PacedQueue(2), Turns()
    for name in ("a", "b", "c"):
        queue.add(name)
    async with running(queue, turns):
        await until(lambda: len(turns.begun) == 2)
        assert len(queue.waiting) == 1
        turns.gate.set()
        await until(lambda: turns.begun == ["a", "b", "c"])


async def test_what_is_named_while_it_is_at_work_is_looked_at_again() -> None:
    """A message may have come in while the lease was given back."""
    queue, turns = PacedQueue(2), Turns()
    queue.add("a")
    async with running(queue, turns):
        await until(lambda: turns.begun == ["a"])
        queue.add("a")
        queue.add("a")
        assert len(queue.waiting) == 0
        turns.gate.set()
        await until(lambda: turns.begun == ["a", "a"] and not list(queue.running))


async def test_a_busy_loop_begins_less_and_never_nothing() -> None:
    """While each round of the loop is long, only every few rounds one begins."""
    queue, turns = PacedQueue(1000), Turns()
    rounds = 0

    async def busy() -> None:
        nonlocal rounds
        while True:
            # a callback that keeps the loop, which is what is tested
            time.sleep(SHORT_ROUND_S * 1.5)  # noqa: ASYNC251
            rounds += 1
            await asyncio.sleep(0)

    for number in range(10):
        queue.add(str(number))
    hog = asyncio.create_task(busy())
    async with running(queue, turns):
        await queue.empty.wait()
    hog.cancel()
    assert rounds >= 8 * (MAX_ROUNDS - 1)  # the first two begin before anything is measured
