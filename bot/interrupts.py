"""Messages between processes that concern a turn under way: a stop ends it, a change of a message
restarts its request to the model."""

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

TOPIC = "turns"  # of the messages, which are an ``Interrupt`` each
LISTEN_AGAIN_S = 1.0
MISSED_S = 5.0


class Interrupt(Struct, frozen=True):
    """An event in a conversation's inbox concerns the turn under way.

    Attributes:
        message_id: the message that it edits or, if ``is_unsent``, takes back; empty: it stops the
            turn.
    """

    conversation: str
    event_id: str
    message_id: str = ""
    is_unsent: bool = False


_decode = Decoder(Interrupt).decode


@dataclass(slots=True)
class Run:
    """A turn under way.

    Attributes:
        change: ends the turn's request to the model if the change concerns it.
        stopped: why the time limit is over.
    """

    limit: asyncio.Timeout
    change: Callable[[Interrupt], None]
    stopped: bool = False


class RunningTurns:
    """Interrupts the turns of this process: a stop ends one, by its time limit; a change of a
    message restarts its request."""

    def __init__(self, store: Store) -> None:
        self._live = store.live
        self._runs: dict[str, Run] = {}
        self._missed: dict[str, float] = {}  # when an interrupt found no turn

    @contextmanager
    def track(
        self, conversation: str, limit: asyncio.Timeout, change: Callable[[Interrupt], None]
    ) -> Iterator[Run]:
        """While the context is open, a stop makes the limit expire, and a change calls
        ``change``."""
        run = self._runs[conversation] = Run(limit, change)
        try:
            yield run
        finally:
            del self._runs[conversation]

    def interrupt(self, interrupt: Interrupt) -> None:
        """Tell the conversation's turn, if one is under way here and has not ended already."""
        run = self._runs.get(interrupt.conversation)
        if run is None:
            self._note_missed(interrupt.conversation)
        elif interrupt.message_id:
            run.change(interrupt)
        elif not run.stopped and not run.limit.expired():
            run.stopped = True
            run.limit.reschedule(asyncio.get_running_loop().time())

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
        """While the context is open, obey what any process publishes under ``TOPIC``."""
        async with run_beside(self._listen()):
            yield

    async def _listen(self) -> None:
        while True:
            with suppress(StoreUnavailable):
                async with self._live.subscribe(TOPIC) as messages:
                    async for message in messages:
                        self.interrupt(_decode(message))
            await asyncio.sleep(LISTEN_AGAIN_S)
