"""Turns under way in this process, so that a stop or a changed message reaches them at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

from msgspec import Struct
from msgspec.json import Decoder

from bot.errors import StoreUnavailable
from bot.store import Store
from bot.tasks import run_beside

# Topics of messages between processes:
TOPIC = "stop"  # a conversation's id is the message
CHANGES = "changes"  # a ``Change`` is the message
LISTEN_AGAIN_S = 1.0
MISSED_S = 5.0


class Change(Struct, frozen=True):
    """Event ``event_id`` in the inbox edits a message or, if ``is_unsent``, takes it back."""

    conversation: str
    message_id: str
    event_id: str
    is_unsent: bool = False


_decode = Decoder(Change).decode


@dataclass(slots=True)
class Run:
    """A turn under way.

    Attributes:
        restart: ends the turn's request to the model if the change concerns it.
        stopped: why the time limit is over.
    """

    limit: asyncio.Timeout
    restart: Callable[[Change], None]
    stopped: bool = False


class CancelRegistry:
    """Stops turns by their time limit, so that a turn has one way to end early; passes changes of
    messages on."""

    def __init__(self, store: Store) -> None:
        self._live = store.live
        self._runs: dict[str, Run] = {}
        self._missed: dict[
            str, float
        ] = {}  # when a stop or a change found no turn that was tracked

    @contextmanager
    def track(
        self, conversation: str, limit: asyncio.Timeout, restart: Callable[[Change], None]
    ) -> Iterator[Run]:
        """While the context is open, ``stop`` makes the limit expire, and ``change`` calls
        ``restart``."""
        run = self._runs[conversation] = Run(limit, restart)
        try:
            yield run
        finally:
            del self._runs[conversation]

    def stop(self, conversation: str) -> None:
        """Stop the conversation's turn, if one is under way here and has not ended already."""
        run = self._runs.get(conversation)
        if run is None:
            self._note_missed(conversation)
        elif not run.stopped and not run.limit.expired():
            run.stopped = True
            run.limit.reschedule(asyncio.get_running_loop().time())

    def change(self, change: Change) -> None:
        """Tell the conversation's turn, if one is under way here, that a message was changed."""
        run = self._runs.get(change.conversation)
        if run is None:
            self._note_missed(change.conversation)
        else:
            run.restart(change)

    def take_missed(self, conversation: str) -> bool:
        """Whether something came just before the conversation's turn was tracked; its inbox holds
        it."""
        return self._missed.pop(conversation, None) is not None

    def _note_missed(self, conversation: str) -> None:
        now = time.monotonic()
        _ = self._missed.pop(conversation, None)
        self._missed[conversation] = now  # the newest is the last
        while now - self._missed[oldest := next(iter(self._missed))] >= MISSED_S:
            del self._missed[oldest]

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[None]:
        """While the context is open, obey what any process publishes under ``TOPIC`` and
        ``CHANGES``."""
        async with (
            run_beside(self._listen(TOPIC, self._read_stop)),
            run_beside(self._listen(CHANGES, self._read_change)),
        ):
            yield

    async def _listen(self, topic: str, take: Callable[[bytes], None]) -> None:
        while True:
            with suppress(StoreUnavailable):
                async with self._live.subscribe(topic) as messages:
                    async for message in messages:
                        take(message)
            await asyncio.sleep(LISTEN_AGAIN_S)

    def _read_stop(self, message: bytes) -> None:
        self.stop(message.decode())

    def _read_change(self, message: bytes) -> None:
        self.change(_decode(message))
