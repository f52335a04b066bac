"""Memory: how full the store is, and which histories are shortened when it is nearly full."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, NamedTuple

from bot.store.clients import Client, translate_errors
from bot.store.keys import conversation_of, history_pattern
from bot.store.queues import Command
from bot.store.scripts import Scripts

TIGHT = 0.80  # of the memory allowed: from here on histories are shortened
ENOUGH = 0.75  # down to here
ABOVE_SHARE = 1.1  # of the mean size of all histories; nearly equal ones are equal
MAKE_ROOM_S = 30.0
AT_MOST = 5_000  # histories considered, and halvings, in one run
PAGE = 500  # keys scanned in one request; more would delay other requests
PAGES = 4  # measured together, in one request for each shard
STRIDE = 20  # halvings between two measurements of the memory


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Used and allowed memory of the store in bytes; of a cluster, that of the fullest node.

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
        """Bytes to free; negative where there is room."""
        return self.used - ENOUGH * self.limit if self.limit else -1.0

    @property
    def is_tight(self) -> bool:
        return self.ratio >= TIGHT


@dataclass(frozen=True, slots=True)
class Freed:
    """The numbers of histories shortened and turns deleted."""

    histories: int = 0
    turns: int = 0


class _Weighed(NamedTuple):
    """A history with its size; in sorted order the first is shortened next.

    Attributes:
        rank: lower for larger ones; histories within a factor of two in size share a rank.
        life: milliseconds until it expires; each turn renews it, so the oldest comes first.
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
        """Read how full the store is."""
        async with translate_errors():
            return max(
                map(_memory, await self._client.info_of_each()), key=lambda memory: memory.ratio
            )

    async def make_room(self) -> Freed:
        """Halve the largest histories until there is room, each as often as it is among the
        largest.

        First those above an equal share of what all histories take, also if it is one turn that is
        so large: nobody else pays for them. Of histories within a factor of two in size, the oldest
        come first. A history of one turn within its share is deleted only when no longer one is
        left; a leased conversation stays as it is. Scans every key of the store, a page at a time.
        """
        async with translate_errors(MAKE_ROOM_S):
            largest, share = await self._largest()
            gone = await self._shorten(
                [history for history in largest if history.size > share], least=0, share=share
            )
            gone += await self._shorten(largest, least=1)
            gone = gone or await self._shorten(largest, least=0)
            return Freed(len(gone), gone.total())

    async def _shorten(
        self, histories: Sequence[_Weighed], least: int, share: float = 0.0
    ) -> Counter[str]:
        """Shorten one history after the other until there is room; each keeps at least ``least``
        turns.

        Args:
            histories: sorted.
            share: bytes, below which a history is not shortened again.

        Returns:
            The number of turns deleted, by conversation.
        """
        heap = list(histories)
        gone: Counter[str] = Counter()
        excess, halvings = 0.0, 0
        while heap:
            if excess <= 0 or halvings % STRIDE == 0:  # there may be room now, also through others
                excess = (await self.measure()).excess
            if excess < 0 or halvings == AT_MOST:
                break
            halvings += 1
            history = heappop(heap)
            if turns := await self._scripts.run("shorten", history.conversation, [least]):
                gone[history.conversation] += turns
                left = await self._weigh([history.key])
                excess -= history.size - sum(rest.size for rest in left)
                for rest in left:
                    if rest.size > share:
                        heappush(heap, rest)
        return gone

    async def _largest(self) -> tuple[list[_Weighed], float]:
        """The largest histories, sorted, which makes them a heap; and the share of each, in
        bytes."""
        largest: list[_Weighed] = []
        number, size = 0, 0
        async for page in self._pages():
            weighed = await self._weigh(page)
            number += len(weighed)
            size += sum(history.size for history in weighed)
            largest = sorted(largest + weighed)[:AT_MOST]
        return largest, ABOVE_SHARE * size / max(number, 1)

    async def _weigh(self, keys: Sequence[str]) -> list[_Weighed]:
        """Size and remaining life of the histories that still exist."""
        requests: list[Command] = []
        for key in keys:
            # SAMPLES 0 counts all turns: an estimate would be far off where one turn is large.
            requests += [("MEMORY USAGE", key, "SAMPLES", 0), ("PTTL", key)]
        answers = await self._client.execute_each(requests)
        return [
            _Weighed(-size.bit_length(), life, key, size)
            for key, size, life in zip(keys, answers[::2], answers[1::2], strict=True)
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
    """As the server decides whether it is full: buffers of replicas and of the append-only file do
    not count."""
    return MemoryUse(
        info["used_memory"] - info.get("mem_not_counted_for_evict", 0), info["maxmemory"]
    )
