"""An event loop beside the main thread: resources are opened and closed there, whatever happens here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from bot.terminal.background import Background, background


class Resource:
    """Something that is open for a while, and tells what happened to it."""

    def __init__(self, broken: str = "") -> None:
        self.events: list[str] = []
        self._broken = broken

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[str]:
        task = asyncio.current_task()
        if self._broken == "opening":
            raise OSError("cannot open")
        self.events.append(f"open in {threading.current_thread().name}")
        try:
            yield "value"
        finally:
            self.events.append("closed by the same task" if asyncio.current_task() is task else "closed by another")
            if self._broken == "closing":
                raise OSError("cannot close")


@pytest.fixture
def loop() -> Iterator[Background]:
    with background() as loop:
        yield loop


def test_a_resource_lives_in_the_background(loop: Background) -> None:
    """Opened and closed by one task, as time limits and task groups need it."""
    resource = Resource()
    with loop.opened(resource.opened()) as value:
        assert value == "value"
        assert resource.events == ["open in event loop"]
    assert resource.events[1:] == ["closed by the same task"]


def test_a_resource_is_closed_after_an_error(loop: Background) -> None:
    """Ctrl-C included."""
    resource = Resource()
    with pytest.raises(KeyboardInterrupt), loop.opened(resource.opened()):
        raise KeyboardInterrupt
    assert resource.events[1:] == ["closed by the same task"]


def test_a_resource_that_does_not_open_raises_here(loop: Background) -> None:
    """Nothing is swallowed in the other thread."""
    with pytest.raises(OSError, match="cannot open"), loop.opened(Resource(broken="opening").opened()):
        pytest.fail("it was never open")


def test_a_resource_that_does_not_close_raises_here(loop: Background) -> None:
    """Neither on the way in nor on the way out."""
    with pytest.raises(OSError, match="cannot close"), loop.opened(Resource(broken="closing").opened()):
        pass


def test_a_resource_that_ends_before_it_is_open_is_an_error(loop: Background) -> None:
    """Nobody waits for ever for what will not come."""

    @asynccontextmanager
    async def cancelled() -> AsyncIterator[None]:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        yield

    with pytest.raises(asyncio.CancelledError), loop.opened(cancelled()):
        pytest.fail("it was never open")


def test_what_still_runs_is_ended_with_the_loop() -> None:
    """No thread and no task is left."""
    begun, ended = threading.Event(), threading.Event()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with background() as loop:
        loop.start(endless())
        loop.soon(begun.set)
        assert begun.wait(5)
    assert ended.is_set()
    assert "event loop" not in [thread.name for thread in threading.enumerate()]
