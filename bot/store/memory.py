"""Memory: how full the store is, and which histories are shortened when it is nearly full."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import groupby
from typing import Any, NamedTuple

from bot.store.clients import Client
from bot.store.connection import translate_errors
from bot.store.keys import conversation_of, history_pattern, slot_of
from bot.store.scripts import Scripts

TIGHT = 0.80  # of the memory allowed: from here on histories are shortened
ENOUGH = 0.75  # down to here
MAKE_ROOM_S = 30.0
AT_MOST = 5_000  # histories looked at more closely, and halvings, at a time
PAGE = 500  # keys looked for in one request; more would stall other requests
PAGES = 4  # whose histories are weighed together, in one request for each shard
STRIDE = 20  # halvings between two looks at the memory

# A request for each history would keep the client busy for seconds where there are many. An estimate of the bytes, from
# some turns only, would take one large turn for none, or for many.
WEIGH = """#!lua flags=no-writes
local found = {}
for i, key in ipairs(KEYS) do
    found[2 * i - 1] = redis.call('MEMORY', 'USAGE', key, 'SAMPLES', 0) or 0
    found[2 * i] = redis.call('PTTL', key)
end
return found
"""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """What the store uses and may use, in bytes; of a cluster, the node that is fullest.

    Attributes:
        limit: 0 where there is none.
    """

    used: int
    limit: int

    @property
    def ratio(self) -> float:
        """1 is full: the store refuses new messages."""
        return self.used / self.limit if self.limit else 0.0

    @property
    def excess(self) -> float:
        """Bytes that have to go; less than 0 where there is room."""
        return self.used - ENOUGH * self.limit if self.limit else -1.0

    @property
    def is_tight(self) -> bool:
        return self.ratio >= TIGHT


@dataclass(frozen=True, slots=True)
class Freed:
    """What making room has cost: histories shortened, turns deleted."""

    histories: int = 0
    turns: int = 0


class _Weighed(NamedTuple):
    """A history with its size; sorted, the first is the next to be shortened.

    Attributes:
        rank: the lower, the larger; histories of about one size (within a factor of two) share a rank.
        life: milliseconds until it goes by itself; each turn gives it a whole one.
        size: bytes.
    """

    rank: int
    life: int
    key: str
    size: int

    @property
    def conversation(self) -> str:
        return conversation_of(self.key)


class StoreMemory:
    """The memory of the store's server."""

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def measure(self) -> MemoryUse:
        """Ask how full the store is."""
        async with translate_errors():
            return max(map(_memory, await self._client.every_info()), key=lambda memory: memory.ratio)

    async def make_room(self) -> Freed:
        """Halve the largest histories until there is room, each as often as it is among the largest.

        Of histories of about one size, within a factor of two, the oldest come first. Those of one turn go only when no
        other is left, and a leased conversation stays as it is. This looks at every key of the store, a
        page at a time; the next time is when what was freed has filled up again.
        """
        async with translate_errors(MAKE_ROOM_S):
            largest = await self._largest()
            freed = await self._shorten(largest, least=1)
            return freed if freed.turns else await self._shorten(largest, least=0)

    async def _shorten(self, histories: Sequence[_Weighed], least: int) -> Freed:
        """Shorten one history after the other; ``least`` turns stay."""
        heap = list(histories)
        gone: Counter[str] = Counter()
        excess, halvings = 0.0, 0
        while heap:
            if excess <= 0 or halvings % STRIDE == 0:  # by our own reckoning there may be room, or by others' doing
                excess = (await self.measure()).excess
            if excess < 0 or halvings == AT_MOST:
                break
            halvings += 1
            history = heappop(heap)
            if turns := await self._scripts.run("shorten", history.conversation, least):
                gone[history.conversation] += turns
                left = await self._weigh([history.key])
                excess -= history.size - sum(rest.size for rest in left)
                for rest in left:
                    heappush(heap, rest)
        return Freed(len(gone), gone.total())

    async def _largest(self) -> list[_Weighed]:
        """The largest histories, the first to give way in front; in order, they are a heap."""
        largest: list[_Weighed] = []
        async for page in self._pages():
            largest = sorted(largest + await self._weigh(page))[:AT_MOST]
        return largest

    async def _weigh(self, keys: Sequence[str]) -> list[_Weighed]:
        """The places of those histories that are still there."""
        groups = [list(group) for _, group in groupby(sorted(keys), slot_of)]
        answers = await self._client.ask_each(("EVAL", WEIGH, len(group), *group) for group in groups)
        return [
            _Weighed(-size.bit_length(), life, key, size)
            for group, found in zip(groups, answers, strict=True)
            for key, size, life in zip(group, found[::2], found[1::2], strict=True)
            if size
        ]

    async def _pages(self) -> AsyncIterator[list[str]]:
        page: list[str] = []
        async for key in self._client.scan_iter(history_pattern(), count=PAGE):
            page.append(key.decode())
            if len(page) == PAGE * PAGES:
                yield page
                page = []
        if page:
            yield page


def _memory(info: Mapping[str, Any]) -> MemoryUse:
    """As the server reckons when it decides whether it is full: buffers of replicas and of its file do not count."""
    return MemoryUse(info["used_memory"] - info.get("mem_not_counted_for_evict", 0), info["maxmemory"])
