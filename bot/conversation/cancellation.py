"""Turns under way in this process, so that they can be stopped at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

TOPIC = "stop"  # the topic of messages between processes; a conversation's id is the message


@dataclass(slots=True)
class Run:
    """A turn under way.

    Attributes:
        stopped: somebody stopped it, which is why its time is over.
    """

    limit: asyncio.Timeout
    stopped: bool = False


class CancelRegistry:
    """Ends turns by their time limit, which is the one way they end early."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}

    @contextmanager
    def watching(self, conversation: str, limit: asyncio.Timeout) -> Iterator[Run]:
        """While the context is open, ``stop`` makes the limit expire."""
        run = self._runs[conversation] = Run(limit)
        try:
            yield run
        finally:
            del self._runs[conversation]

    def stop(self, conversation: str) -> None:
        """End the conversation's turn now; nothing happens where none is under way here, or it ends already."""
        run = self._runs.get(conversation)
        if run and not run.stopped and not run.limit.expired():
            run.stopped = True
            run.limit.reschedule(asyncio.get_running_loop().time())
