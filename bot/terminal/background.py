"""An event loop in a thread: the main thread reads the keyboard, since only there Ctrl-C interrupts
``input()``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractAsyncContextManager, contextmanager
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """Runs coroutines for the main thread; ``background_loop()`` opens one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine without waiting for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Call a function in the loop's thread."""
        self._loop.call_soon_threadsafe(callback)

    @contextmanager
    def open(self, resource: AbstractAsyncContextManager[T]) -> Iterator[T]:
        """Enter and exit the resource in one task, which exits it also when Ctrl-C comes while it
        opens."""
        ready: Future[T] = Future()
        closing = asyncio.Event()

        async def run() -> None:
            try:
                async with resource as value:
                    ready.set_result(value)
                    await closing.wait()
            except BaseException as error:
                if not ready.done():
                    ready.set_exception(error)
                raise

        holding = self.start(run())
        try:
            yield ready.result()
        finally:
            self.call_soon(closing.set)
            wait([holding])
        holding.result()


@contextmanager
def background_loop() -> Iterator[BackgroundLoop]:
    """An event loop that runs while the context is open."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = Thread(target=loop.run_forever, name="event loop")
        thread.start()
        try:
            yield BackgroundLoop(loop)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
