"""The history: what was said, one entry per turn, so that trimming never parts a call from its result.

Beside it stands a summary of its older turns, which are kept as they are for as long as the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, cast

from bot.store.clients import Client
from bot.store.connection import translate_errors
from bot.store.keys import Keys
from bot.store.leases import Lease
from bot.store.scripts import Scripts


class Recalled(NamedTuple):
    """What is known of a conversation.

    Attributes:
        summary: of older turns, empty where there is none.
        entries: the newest turns, oldest first; some of them may be part of the summary.
    """

    summary: bytes
    entries: list[bytes]


class History:
    """Committed turns; ``Journal.commit`` adds them."""

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def read(self, conversation: str, turns: int) -> list[bytes]:
        """The newest ``turns`` entries (at least 1), oldest first."""
        async with translate_errors():
            return cast(list[bytes], await self._client.lrange(Keys(conversation).history, -turns, -1))

    async def recall(self, conversation: str, turns: int) -> Recalled:
        """The summary and the newest ``turns`` entries (at least 1), as they stood at one moment."""
        summary, entries = await self._scripts.run("recall", conversation, turns)
        return Recalled(summary or b"", entries)

    async def summarise(self, lease: Lease, summary: bytes) -> None:
        """Put a summary in the place of the one before.

        Raises:
            LeaseLost: nothing was changed.
        """
        await self._scripts.run("summarise", lease.conversation, lease.token, summary)

    async def rewrite(self, lease: Lease, changes: Mapping[bytes, bytes], *, stale: bool = False) -> None:
        """Put other entries in the place of these, or none where the new one is empty.

        Args:
            stale: the summary tells of what has changed, so it goes.

        Raises:
            LeaseLost: nothing was changed.
        """
        pairs = [entry for change in changes.items() for entry in change]
        await self._scripts.run("rewrite", lease.conversation, lease.token, "stale" if stale else "", *pairs)

    async def purge(self, lease: Lease) -> None:
        """Delete what was said. The turn under way, what waits for the next and what is to be delivered remain.

        Raises:
            LeaseLost: nothing was deleted.
        """
        await self._scripts.run("purge", lease.conversation, lease.token)

    async def erase(self, lease: Lease, *, whole: bool) -> None:
        """Delete what was said, and what was not yet delivered.

        Args:
            whole: the turn under way and what waits for the next go too.

        Raises:
            LeaseLost: nothing was deleted.
        """
        await self._scripts.run("erase", lease.conversation, lease.token, "whole" if whole else "")
