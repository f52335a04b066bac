"""Small things worth remembering between processes: names looked up, what was told once, who talks where."""

from __future__ import annotations

from typing import cast

from redis.asyncio import Redis

from bot.store.connection import answering
from bot.store.keys import note_key


class Notes:
    """Short-lived notes by name. Losing one costs a look-up, never a message."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    async def get(self, name: str) -> bytes | None:
        """The note, unless its time is over."""
        async with answering():
            return cast("bytes | None", await self._client.get(note_key(name)))

    async def set(self, name: str, value: bytes, ttl_s: int) -> None:
        """Write a note that lives for ``ttl_s`` seconds."""
        async with answering():
            await self._client.set(note_key(name), value, ex=ttl_s)

    async def incr(self, name: str, ttl_s: int) -> int:
        """Count one more, from 1; the count ends ``ttl_s`` seconds after its last increase."""
        async with answering(), self._client.pipeline() as pipe:
            _ = pipe.incr(note_key(name))
            _ = pipe.expire(note_key(name), ttl_s)
            counted, _ = await pipe.execute()
            return int(counted)

    async def add(self, name: str, member: str, ttl_s: int) -> None:
        """Add a member to a set that lives for ``ttl_s`` seconds after the last addition."""
        async with answering(), self._client.pipeline() as pipe:
            _ = pipe.sadd(note_key(name), member)
            _ = pipe.expire(note_key(name), ttl_s)
            await pipe.execute()

    async def members(self, name: str) -> list[str]:
        """The members of a set, in order."""
        async with answering():
            members = cast(set[bytes], await self._client.smembers(note_key(name)))
        return sorted(member.decode() for member in members)

    async def delete(self, name: str) -> None:
        """Remove a note."""
        async with answering():
            await self._client.delete(note_key(name))
