"""Memory: how full the store is, and the one rule for a full store: histories above an equal share
are shortened first."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bot.store.clients import Client, translate_errors
from bot.store.keys import HISTORIES, conversation_of
from bot.store.server import Command

TIGHT = 0.80  # of the memory allowed: from here on histories are shortened
ENOUGH = 0.75  # down to here
MAKE_ROOM_S = 30.0
AT_MOST = 5_000  # histories considered in one run
PAGE = 500  # keys scanned in one request; more would delay other requests
PAGES = 4  # measured together, in one request for each shard


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


class _Weighed(NamedTuple):
    """A history with its size; in sorted order the first is shortened next.

    Attributes:
        rank: lower for larger ones; histories within a factor of two in size share a rank.
        life: milliseconds until it expires; each turn renews it, so the oldest comes first.
        size: bytes.
        turns: how many it has.
    """

    rank: int
    life: int
    key: str
    size: int
    turns: int


class StoreMemory:
    """The memory of the store's server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def measure(self) -> MemoryUse:
        """Read how full the store is."""
        async with translate_errors():
            return max(
                map(_memory, await self._client.info_of_each()), key=lambda memory: memory.ratio
            )

    async def make_room(self) -> Counter[str]:
        """Halve the histories above a share, one after the other, until there is room.

        The share is what each of all histories may take so that there is room, but at least half of
        what they take on average: a passing peak of something else costs half of them at most. Of
        histories within a factor of two in size the oldest come first. Each loses its oldest turns,
        and a single turn above the share goes. What is still above it is halved again in the next
        round. Scans every key of the store, a page at a time.

        Returns:
            The number of turns deleted, by conversation.
        """
        gone: Counter[str] = Counter()
        async with translate_errors(MAKE_ROOM_S):
            largest, number, size = await self._largest()
            excess = (await self.measure()).excess
            share = max(size - excess, size / 2) / max(number, 1)
            for history in largest:
                if excess <= 0:
                    # There may be room now, also through others.
                    excess = (await self.measure()).excess
                if excess < 0:
                    break
                if history.size > share:
                    turns = (history.turns + 1) // 2
                    await self._client.submit([("LTRIM", history.key, turns, -1)])
                    gone[conversation_of(history.key)] = turns
                    excess -= history.size * turns / history.turns
        return gone

    async def _largest(self) -> tuple[list[_Weighed], int, int]:
        """The largest histories, sorted; number and bytes of all."""
        largest: list[_Weighed] = []
        number, size = 0, 0
        async for page in self._pages():
            weighed = await self._weigh(page)
            number += len(weighed)
            size += sum(history.size for history in weighed)
            largest = sorted(largest + weighed)[:AT_MOST]
        return largest, number, size

    async def _weigh(self, keys: Sequence[str]) -> list[_Weighed]:
        """Size, turns and remaining life of the histories that still exist."""
        requests: list[Command] = []
        for key in keys:
            # SAMPLES 0 counts all turns: an estimate would be far off where one turn is large.
            requests += [("MEMORY USAGE", key, "SAMPLES", 0), ("PTTL", key), ("LLEN", key)]
        answers = await self._client.submit(requests)
        found = zip(keys, answers[::3], answers[1::3], answers[2::3], strict=True)
        return [
            _Weighed(-size.bit_length(), life, key, size, turns)
            for key, size, life, turns in found
            if size
        ]

    async def _pages(self) -> AsyncIterator[list[str]]:
        page: list[str] = []
        async for key in self._client.scan_iter(HISTORIES, count=PAGE):
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
