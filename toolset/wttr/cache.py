"""Keeps results for a while; callers who want the same one at the same moment share one making."""

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
    making: asyncio.Task[T]
    until: float


class SharedCache(Generic[T]):
    """A bounded cache; failures reach everybody who waits for them and are not kept.

    Args:
        keep_s: seconds a result stays good.
        size: results kept at most; the oldest goes first.
        clock: seconds, monotonic.
    """

    def __init__(self, keep_s: float, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._keep_s = keep_s
        self._size = size
        self._clock = clock
        self._entries: OrderedDict[Hashable, _Entry[T]] = OrderedDict()

    async def get(self, key: Hashable, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result under ``key``, made by ``make`` where there is none."""
        entry = self._entries.get(key)
        if entry is None or self._clock() >= entry.until:
            entry = self._begin(key, make)
        # Waiting on the task instead of awaiting it: one caller's cancellation must not end what others wait for.
        await asyncio.wait([entry.making])
        return entry.making.result()

    def _begin(self, key: Hashable, make: Callable[[], Coroutine[Any, Any, T]]) -> _Entry[T]:
        entry = _Entry(asyncio.create_task(make()), self._clock() + self._keep_s)
        self._entries.pop(key, None)
        self._entries[key] = entry
        if len(self._entries) > self._size:
            self._entries.popitem(last=False)
        entry.making.add_done_callback(lambda making: self._forget_failure(key, making))
        return entry

    def _forget_failure(self, key: Hashable, making: asyncio.Task[T]) -> None:
        failed = making.cancelled() or making.exception() is not None
        entry = self._entries.get(key)
        if failed and entry is not None and entry.making is making:
            del self._entries[key]
