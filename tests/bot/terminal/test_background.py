"""An event loop beside the main thread: resources are opened and closed there, whatever happens
here."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from bot.terminal.background import BackgroundLoop, background_loop


class Resource:
    """Something that is open for a while, and tells what happened to it."""

    def __init__(self, broken: str = "") -> None:
        self.events: list[str] = []
        self._broken = broken

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        task = asyncio.current_task()
        if self._broken == "opening":
            raise OSError("cannot open")
        self.events.append(f"open in {threading.current_thread().name}")
        try:
            yield "value"
        finally:
            self.events.append(
                "closed by the same task" if asyncio.current_task() is task else "closed by another"
            )
            if self._broken == "closing":
                raise OSError("cannot close")


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    with background_loop() as loop:
        yield loop


def test_a_resource_lives_in_the_background(loop: BackgroundLoop) -> None:
    """Opened and closed by one task, as time limits and task groups need it."""
    resource = Resource()
    with loop.open(resource.open()) as value:
        assert value == "value"
        assert resource.events == ["open in event loop"]
    assert resource.events[1:] == ["closed by the same task"]


def test_a_resource_is_closed_after_an_error(loop: BackgroundLoop) -> None:
    """Ctrl-C included."""
    resource = Resource()
    with pytest.raises(KeyboardInterrupt), loop.open(resource.open()):
        raise KeyboardInterrupt
    assert resource.events[1:] == ["closed by the same task"]


def test_a_resource_that_does_not_open_raises_here(loop: BackgroundLoop) -> None:
    """Nothing is swallowed in the other thread."""
    with pytest.raises(OSError, match="cannot open"), loop.open(Resource(broken="opening").open()):
        pytest.fail("it was never open")


def test_a_resource_that_does_not_close_raises_here(loop: BackgroundLoop) -> None:
    """Neither on the way in nor on the way out."""
    with pytest.raises(OSError, match="cannot close"), loop.open(Resource(broken="closing").open()):
        pass


def test_a_resource_that_ends_before_it_is_open_is_an_error(loop: BackgroundLoop) -> None:
    """Nobody waits for ever for what will not come."""

    @asynccontextmanager
    async def cancelled() -> AsyncIterator[None]:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        yield

    with pytest.raises(asyncio.CancelledError), loop.open(cancelled()):
        pytest.fail("it was never open")


def test_what_still_runs_is_ended_with_the_loop() -> None:
    """No thread and no task is left."""
    begun, ended = threading.Event(), threading.Event()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with background_loop() as loop:
        loop.start(endless())
        loop.call_soon(begun.set)
        assert begun.wait(5)
    assert ended.is_set()
    assert "event loop" not in [thread.name for thread in threading.enumerate()]
