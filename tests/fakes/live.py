"""Live events within one process, for tests that need no Redis
(``bot.channels.console.live.Live``)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.errors import StoreUnavailable
from bot.live_events import LiveEvent
from bot.transcript import encode

END = b""


class LocalLive:
    """Passes events on, remembers them, and can be away or slow like a store.

    Attributes:
        gate: while it is closed, publishing waits.
        waiting: how many wait for that.
        refused: how often it was away for somebody.
    """

    def __init__(self) -> None:
        self.away = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting = 0
        self.refused = 0
        self.published: list[bytes] = []
        self._viewers: dict[str, set[asyncio.Queue[bytes]]] = {}

    @property
    def viewers(self) -> int:
        """How many watch now."""
        return sum(map(len, self._viewers.values()))

    async def publish(self, conversation: str, *events: bytes) -> None:
        if self.away:
            self.refused += 1
            raise StoreUnavailable("away")
        self.waiting += 1
        await self.gate.wait()
        self.waiting -= 1
        for event in events:
            self.published.append(event)
            self._tell(conversation, event)

    @asynccontextmanager
    async def subscribe(self, conversation: str) -> AsyncIterator[AsyncIterator[bytes]]:
        if self.away:
            raise StoreUnavailable("away")
        viewer: asyncio.Queue[bytes] = asyncio.Queue()
        viewers = self._viewers.setdefault(conversation, set())
        viewers.add(viewer)
        try:
            yield _events(viewer)
        finally:
            viewers.remove(viewer)

    def break_off(self, conversation: str) -> None:
        """Let everybody who watches lose the store."""
        self._tell(conversation, END)

    def _tell(self, conversation: str, event: bytes) -> None:
        for viewer in self._viewers.get(conversation, ()):
            viewer.put_nowait(event)


async def _events(viewer: asyncio.Queue[bytes]) -> AsyncIterator[bytes]:
    while (event := await viewer.get()) != END:
        yield event
    raise StoreUnavailable("away")


def encoded(*events: LiveEvent) -> list[bytes]:
    """The events as they are published."""
    return [encode(event) for event in events]
