"""A cache of results with a lifetime; concurrent calls for the same key share one task."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    task: asyncio.Task[T]
    until: float


class SharedCache(Generic[T]):
    """A bounded cache; a failure is raised for all callers that wait for it, and not cached.

    Args:
        keep_s: lifetime of a result, in seconds.
        size: maximum number of results; the oldest is dropped first.
        clock: seconds, monotonic.
    """

    def __init__(
        self, keep_s: float, size: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._keep_s = keep_s
        self._size = size
        self._clock = clock
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()

    async def get(self, key: Hashable, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of ``key``; ``make`` creates a missing one."""
        entry = self._entries.get(key)
        if entry is None or self._clock() >= entry.until:
            entry = self._begin(key, make)
        # asyncio.wait does not cancel the task with the caller: others may wait for it.
        await asyncio.wait([entry.task])
        return entry.task.result()

    def _begin(self, key: Hashable, make: Callable[[], Coroutine[Any, Any, T]]) -> _Entry[T]:
        entry = _Entry(asyncio.create_task(make()), self._clock() + self._keep_s)
        self._entries.pop(key, None)
        self._entries[key] = entry
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)
        entry.task.add_done_callback(lambda task: self._drop_failure(key, task))
        return entry

    def _drop_failure(self, key: Hashable, task: asyncio.Task[T]) -> None:
        failed = task.cancelled() or task.exception() is not None
        entry = self._entries.get(key)
        if failed and entry is not None and entry.task is task:
            del self._entries[key]
