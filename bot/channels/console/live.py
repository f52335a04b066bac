"""Live events between processes: lossy, merged before they are sent, decoded after."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from itertools import groupby
from typing import Protocol

from bot.errors import StoreUnavailable
from bot.live_events import AnswerText, LiveEvent, decode_event
from bot.transcript import encode

FLUSH_S = 0.04  # text of a fast stream is merged for so long


class Live(Protocol):
    """Carries encoded live events from the process that runs a turn to those that show it."""

    async def publish(self, conversation: str, *events: bytes) -> None:
        """Send events to the current subscribers.

        Raises:
            StoreUnavailable: nothing was sent.
        """
        ...

    def subscribe(self, conversation: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The events published after the context is entered.

        Raises:
            StoreUnavailable: on entering, or later from the iterator.
        """
        ...


class BufferedWatcher:
    """Publishes a conversation's events in order, several at once.

    ``show`` waits for nothing. If the store does not answer, events are lost and the turn goes on.
    """

    def __init__(self, live: Live, conversation: str) -> None:
        self._live = live
        self._conversation = conversation
        self._events: list[LiveEvent] = []
        self._urgent = asyncio.Event()
        self._flushing: asyncio.Task[None] | None = None

    async def show(self, event: LiveEvent) -> None:
        """Publish an event: text together with the text that soon follows, anything else at
        once."""
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
                    await self._live.publish(self._conversation, *map(encode, _merge_text(events)))
        finally:
            self._flushing = None


def _merge_text(events: list[LiveEvent]) -> Iterator[LiveEvent]:
    """The events, neighbouring pieces of text as one."""
    for is_text, group in groupby(events, lambda event: isinstance(event, AnswerText)):
        if is_text:
            yield AnswerText(
                "".join(event.text for event in group if isinstance(event, AnswerText))
            )
        else:
            yield from group


async def decode_events(events: AsyncIterator[bytes]) -> AsyncIterator[LiveEvent]:
    """The events that were published."""
    async for event in events:
        yield decode_event(event)
