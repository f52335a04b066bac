"""An event loop beside the main thread, which belongs to the keyboard: only there does Ctrl-C interrupt ``input()``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractAsyncContextManager, contextmanager
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs coroutines for the main thread; ``background()`` makes one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin something and go on."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def soon(self, callback: Callable[[], object]) -> None:
        """Call a function in the loop's thread."""
        self._loop.call_soon_threadsafe(callback)

    @contextmanager
    def opened(self, resource: AbstractAsyncContextManager[T]) -> Iterator[T]:
        """The resource, entered and left by one task; it is left properly also when Ctrl-C comes while it opens."""
        ready: Future[T] = Future()
        closing = asyncio.Event()

        async def hold() -> None:
            try:
                async with resource as value:
                    ready.set_result(value)
                    await closing.wait()
            except BaseException as error:
                if not ready.done():
                    ready.set_exception(error)
                raise

        holding = self.start(hold())
        try:
            yield ready.result()
        finally:
            self.soon(closing.set)
            wait([holding])
        holding.result()


@contextmanager
def background() -> Iterator[Background]:
    """An event loop that runs while the context is open."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        thread = Thread(target=loop.run_forever, name="event loop")
        thread.start()
        try:
            yield Background(loop)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
