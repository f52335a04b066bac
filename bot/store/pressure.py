"""Memory pressure: how full the store is, and which histories make room when it fills up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.store.clients import Client
from bot.store.connection import answering
from bot.store.keys import conversation_of, history_pattern
from bot.store.scripts import Scripts

TIGHT = 0.80  # of the memory allowed: from here on histories are shortened
ENOUGH = 0.75  # down to here
RELIEF_S = 30.0
AT_MOST = 5_000  # histories shortened at a time
PAGE = 500  # keys looked at in one request; more would stall other requests
STRIDE = 20  # histories between two looks at the memory


@dataclass(frozen=True, slots=True)
class Memory:
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
    def is_tight(self) -> bool:
        return self.ratio >= TIGHT


@dataclass(frozen=True, slots=True)
class Relief:
    """What was done about it: so many histories have lost so many turns."""

    histories: int = 0
    turns: int = 0


class Pressure:
    """Measures the memory and makes room."""

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def measure(self) -> Memory:
        """Ask how full the store is."""
        async with answering():
            return max(map(_memory, await self._client.every_info()), key=lambda memory: memory.ratio)

    async def relieve(self) -> Relief:
        """Halve the oldest histories until there is room; those of one turn go only when no other is left.

        A conversation that is attended to stays as it is, and so does the newest turn of each for as long as possible.
        This looks at every key of the store, a page at a time.
        """
        async with answering(RELIEF_S):
            oldest = await self._oldest()
            relief = await self._shorten(oldest, least=1)
            return relief if relief.turns else await self._shorten(oldest, least=0)

    async def _shorten(self, conversations: Sequence[str], least: int) -> Relief:
        """Shorten one history after the other; ``least`` turns stay."""
        gone: list[int] = []
        for number, conversation in enumerate(conversations):
            if number % STRIDE == 0 and (await self.measure()).ratio < ENOUGH:
                break
            gone.append(await self._scripts.run("shorten", conversation, least))
        return Relief(sum(turns > 0 for turns in gone), sum(gone))

    async def _oldest(self) -> list[str]:
        """The conversations whose last turn is longest ago, those first: each turn gives a history its whole life."""
        oldest: list[tuple[int, str]] = []
        async for page in self._pages():
            lives = await self._client.ask_each(("PTTL", key) for key in page)
            oldest += zip(lives, map(conversation_of, page), strict=True)
            oldest = sorted(oldest)[:AT_MOST]
        return [conversation for _, conversation in oldest]

    async def _pages(self) -> AsyncIterator[list[str]]:
        page: list[str] = []
        async for key in self._client.scan_iter(history_pattern(), count=PAGE):
            page.append(key.decode())
            if len(page) == PAGE:
                yield page
                page = []
        if page:
            yield page


def _memory(info: Mapping[str, Any]) -> Memory:
    """As the server reckons when it decides whether it is full: buffers of replicas and of its file do not count."""
    return Memory(info["used_memory"] - info.get("mem_not_counted_for_evict", 0), info["maxmemory"])
