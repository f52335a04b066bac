"""Live events on their way between processes: lossy, gathered when they leave, decoded when they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol

from msgspec import DecodeError

from bot.errors import StoreUnavailable
from bot.live import AnswerText, LiveEvent, decode_event
from bot.transcript import encode

FLUSH_S = 0.04  # words of a fast stream are gathered for so long


class Live(Protocol):
    """Carries encoded live events from the process that runs a turn to those that watch it."""

    async def publish(self, conversation: str, event: bytes) -> None:
        """Pass one event to whoever watches now.

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


class GatheringWatcher:
    """Publishes a conversation's events, words gathered for a moment so that a token does not cost a publish.

    Nobody is waited for, and a store that does not answer costs the viewers, not the turn.
    """

    def __init__(self, live: Live, conversation: str) -> None:
        self._live = live
        self._conversation = conversation
        self._words: list[str] = []
        self._flushing: asyncio.Task[None] | None = None
        self._in_order = asyncio.Lock()

    async def show(self, event: LiveEvent) -> None:
        """Pass one event on."""
        if isinstance(event, AnswerText):
            self._words.append(event.text)
            self._flushing = self._flushing or asyncio.create_task(self._flush_soon())
        else:
            await self._flush(event)

    async def _flush_soon(self) -> None:
        await asyncio.sleep(FLUSH_S)
        self._flushing = None
        await self._flush()

    async def _flush(self, *events: LiveEvent) -> None:
        async with self._in_order:
            words, self._words = "".join(self._words), []
            with suppress(StoreUnavailable):
                for event in (AnswerText(words), *events) if words else events:
                    await self._live.publish(self._conversation, encode(event))


async def decoded(events: AsyncIterator[bytes]) -> AsyncIterator[LiveEvent]:
    """The events, without those that only a newer process knows."""
    async for event in events:
        with suppress(DecodeError):
            yield decode_event(event)
