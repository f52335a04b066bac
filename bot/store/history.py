"""The history: what was said, one entry per turn, so that trimming never parts a call from its result."""

from __future__ import annotations

from typing import cast

from redis.asyncio import Redis

from bot.store.connection import answering
from bot.store.keys import Keys


class History:
    """Committed turns; ``Journal.commit`` adds them."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    async def read(self, conversation: str, turns: int) -> list[bytes]:
        """The newest ``turns`` entries (at least 1), oldest first."""
        async with answering():
            return cast(list[bytes], await self._client.lrange(Keys(conversation).history, -turns, -1))

    async def clear(self, conversation: str) -> None:
        """Forget what was said."""
        async with answering():
            await self._client.delete(Keys(conversation).history)
