"""Live events on their way between processes: lossy, merged when they leave, decoded when they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from itertools import groupby
from typing import Protocol

from msgspec import DecodeError

from bot.errors import StoreUnavailable
from bot.live_events import AnswerText, LiveEvent, decode_event
from bot.transcript import encode

FLUSH_S = 0.04  # words of a fast stream are merged for so long


class Live(Protocol):
    """Carries encoded live events from the process that runs a turn to those that watch it."""

    async def publish(self, conversation: str, *events: bytes) -> None:
        """Pass events to whoever watches now.

        Raises:
            StoreUnavailable: nobody was reached.
        """
        ...

    def subscribe(self, conversation: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Everything published from the moment the context is entered.

        Raises:
            StoreUnavailable: on entering, or later from the iterator.
        """
        ...


class BufferedWatcher:
    """Publishes a conversation's events in their order, those of a moment at once.

    Nobody is waited for, and a store that does not answer costs the viewers, not the turn.
    """

    def __init__(self, live: Live, conversation: str) -> None:
        self._live = live
        self._conversation = conversation
        self._events: list[LiveEvent] = []
        self._urgent = asyncio.Event()
        self._flushing: asyncio.Task[None] | None = None

    async def show(self, event: LiveEvent) -> None:
        """Pass one event on: words with those that follow soon, anything else at once."""
        self._events.append(event)
        if not isinstance(event, AnswerText):
            self._urgent.set()
        self._flushing = self._flushing or asyncio.create_task(self._flush())

    async def _flush(self) -> None:
        try:
            while self._events:
                if not self._urgent.is_set():
                    with suppress(TimeoutError):
                        async with asyncio.timeout(FLUSH_S):
                            await self._urgent.wait()
                self._urgent.clear()
                events, self._events = self._events, []
                with suppress(StoreUnavailable):
                    await self._live.publish(self._conversation, *map(encode, _merge_words(events)))
        finally:
            self._flushing = None


def _merge_words(events: list[LiveEvent]) -> Iterator[LiveEvent]:
    """The events, words that follow each other as one."""
    for is_words, group in groupby(events, lambda event: isinstance(event, AnswerText)):
        if is_words:
            yield AnswerText("".join(event.text for event in group if isinstance(event, AnswerText)))
        else:
            yield from group


async def decode_events(events: AsyncIterator[bytes]) -> AsyncIterator[LiveEvent]:
    """The events, without those that only a newer process knows."""
    async for event in events:
        with suppress(DecodeError):
            yield decode_event(event)
