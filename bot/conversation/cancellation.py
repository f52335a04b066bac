"""Turns under way in this process, so that they can be stopped at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass

from bot.errors import StoreUnavailable
from bot.store import Store
from bot.tasks import run_beside

TOPIC = "stop"  # the topic of messages between processes; a conversation's id is the message
LISTEN_AGAIN_S = 1.0
MISSED_S = 5.0


@dataclass(slots=True)
class Run:
    """A turn under way; ``stopped`` says why its time limit is over."""

    limit: asyncio.Timeout
    stopped: bool = False


class CancelRegistry:
    """Stops turns by their time limit, so that a turn has one way to end early."""

    def __init__(self, store: Store) -> None:
        self._live = store.live
        self._runs: dict[str, Run] = {}
        self._missed: dict[str, float] = {}  # when somebody wanted to stop a turn that was not tracked

    @contextmanager
    def track(self, conversation: str, limit: asyncio.Timeout) -> Iterator[Run]:
        """While the context is open, ``stop`` makes the limit expire."""
        run = self._runs[conversation] = Run(limit)
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

    def take_missed(self, conversation: str) -> bool:
        """Whether a stop came just before the conversation's turn was tracked; its inbox holds it."""
        return self._missed.pop(conversation, None) is not None

    def _note_missed(self, conversation: str) -> None:
        now = time.monotonic()
        _ = self._missed.pop(conversation, None)
        self._missed[conversation] = now  # the newest is the last
        while now - self._missed[oldest := next(iter(self._missed))] >= MISSED_S:
            del self._missed[oldest]

    def listen(self) -> AbstractAsyncContextManager[None]:
        """While the context is open, obey the requests to stop that any process publishes under ``TOPIC``."""
        return run_beside(self._listen())

    async def _listen(self) -> None:
        while True:
            with suppress(StoreUnavailable):
                async with self._live.subscribe(TOPIC) as requests:
                    async for conversation in requests:
                        self.stop(conversation.decode())
            await asyncio.sleep(LISTEN_AGAIN_S)
