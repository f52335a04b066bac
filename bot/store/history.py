"""The history: what was said, one entry per turn, so that trimming never parts a call from its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from bot.store.clients import Client
from bot.store.connection import answering
from bot.store.keys import Keys
from bot.store.leases import Lease
from bot.store.scripts import Scripts


class History:
    """Committed turns; ``Journal.commit`` adds them."""

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def read(self, conversation: str, turns: int) -> list[bytes]:
        """The newest ``turns`` entries (at least 1), oldest first."""
        async with answering():
            return cast(list[bytes], await self._client.lrange(Keys(conversation).history, -turns, -1))

    async def rewrite(self, lease: Lease, changes: Mapping[bytes, bytes]) -> None:
        """Put other entries in the place of these, or none where the new one is empty.

        Raises:
            LeaseLost: nothing was changed.
        """
        if changes:
            pairs = [entry for change in changes.items() for entry in change]
            await self._scripts.run("rewrite", lease.conversation, lease.token, *pairs)

    async def purge(self, lease: Lease) -> None:
        """Delete what was said and what was not yet delivered. The turn under way and what waits for the next remain.

        Raises:
            LeaseLost: nothing was deleted.
        """
        await self._scripts.run("purge", lease.conversation, lease.token)
