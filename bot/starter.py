"""A queue of conversations: each begins as soon as the event loop has room, those that have waited longest first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

ROOM_S = 0.004  # a round of the loop that takes no longer leaves room for one more; a webhook takes about eight rounds
FORGET = 0.8  # of the longest round of late, so much is remembered after each round
PATIENCE = 5  # after so many rounds as long as that one more begins all the same: the door is first, the queue moves on

Begin = Callable[[str], Awaitable[None]]


class Starter:
    """Begins work on conversations as the loop can carry it.

    What a turn costs is its beginning and its end; while it waits for a model it costs nothing. So turns are not
    counted: the loop is timed, round by round, and one more begins while rounds are short.

    Args:
        at_once: begun and not ended, at most.

    Attributes:
        empty: nothing waits.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._waiting: dict[str, None] = {}  # in order, each once
        self._at_work: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()  # of those at work
        self._changed = asyncio.Event()
        self.empty = asyncio.Event()
        self.empty.set()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @property
    def at_work(self) -> Iterable[asyncio.Task[None]]:
        """What is under way."""
        return self._at_work.values()

    def add(self, conversation: str) -> None:
        """Put a conversation at the end of the queue unless it waits already; after its end where it is at work."""
        if conversation in self._at_work:
            self._again.add(conversation)
            return
        self._waiting[conversation] = None
        self.empty.clear()
        self._changed.set()

    async def run(self, begin: Begin) -> None:
        """Begin what waits, for ever."""
        loop = asyncio.get_running_loop()
        longest, begun_at, round_at = 0.0, 0.0, loop.time()
        while True:
            if not self._may_begin:
                await self._until_one_may()
                longest, round_at = 0.0, loop.time()
            if longest <= ROOM_S or loop.time() - begun_at >= longest * PATIENCE:
                begun_at = loop.time()
                self._begin(begin)
            await asyncio.sleep(0)
            now = loop.time()
            longest, round_at = max(now - round_at, longest * FORGET), now

    @property
    def _may_begin(self) -> bool:
        return bool(self._waiting) and len(self._at_work) < self._at_once

    async def _until_one_may(self) -> None:
        while not self._may_begin:
            self._changed.clear()
            await self._changed.wait()

    def _begin(self, begin: Begin) -> None:
        conversation = next(iter(self._waiting))
        del self._waiting[conversation]
        if not self._waiting:
            self.empty.set()
        task = asyncio.ensure_future(begin(conversation))
        self._at_work[conversation] = task
        task.add_done_callback(partial(self._end, conversation))

    def _end(self, conversation: str, _task: asyncio.Future[None]) -> None:
        del self._at_work[conversation]
        self._changed.set()
        if conversation in self._again:  # a message came in while its lease was given back
            self._again.discard(conversation)
            self.add(conversation)
