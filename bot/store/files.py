"""Files of tool calls and of messages on the page, each for a day.

All are within two limits: the oldest make room for a new one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from bot.store.clients import Client, translate_errors
from bot.store.keys import FILES_KEY_S, FILES_S, file_key, files_keys

FILES_BYTES = 16 * 1024 * 1024  # of all files, where nothing else is said
MOST_FILES = 1_000  # whatever their size: each new one looks at all others
OWN_SERVER_FILES_BYTES = 64 * 1024 * 1024  # on a server of the operator's

# The index holds the keys of all files by their age; KEYS after the first two are those of it, the
# oldest first. Not allow-oom: a full store takes no file, and the answer has its words.
KEEP = """#!lua
local index, file = KEYS[1], KEYS[2]
local total, count = #ARGV[5], 1
for number = #KEYS, 3, -1 do
    local other = KEYS[number]
    local size = other == file and 0 or redis.call('HSTRLEN', other, 'data')
    total, count = total + size, count + math.min(size, 1)
    if size == 0 or total > tonumber(ARGV[1]) or count > tonumber(ARGV[6]) then
        redis.call('DEL', other)
        redis.call('ZREM', index, other)
    end
end
redis.call('HSET', file, 'owner', ARGV[3], 'mime', ARGV[4], 'data', ARGV[5])
redis.call('EXPIRE', file, ARGV[2])
redis.call('ZADD', index, redis.call('TIME')[1], file)
redis.call('EXPIRE', index, ARGV[2])
"""
SIGNING_KEY = """#!lua flags=allow-oom
local key = redis.call('GET', KEYS[1]) or ARGV[2]
redis.call('SET', KEYS[1], key, 'EX', ARGV[1])
return key
"""


@dataclass(frozen=True, slots=True)
class FileOwner:
    """Whose a file is: it is deleted with the conversation, and with all that is known of the
    asker."""

    conversation: str
    asker: str

    def __str__(self) -> str:
        return f"{self.conversation}:{self.asker}"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file, and the seconds that are left of its day."""

    mime: str
    data: bytes
    ttl_s: int


class Files:
    """All files.

    Args:
        most: bytes of all together.
    """

    def __init__(self, client: Client, most: int = FILES_BYTES) -> None:
        self._client = client
        self._most = most

    async def keep(self, file_id: str, owner: FileOwner, mime: str, data: bytes) -> None:
        """Store a file for a day, or the same again."""
        index, _ = files_keys()
        async with translate_errors():
            keys = index, file_key(file_id), *await self._keys()
            values = self._most, FILES_S, str(owner), mime, data, MOST_FILES
            await self._client.eval(KEEP, len(keys), *keys, *values)

    async def read(self, file_id: str) -> StoredFile | None:
        """A file; None if its day is over, or it had to make room."""
        key = file_key(file_id)
        async with translate_errors():
            fields, ttl_s = await self._client.execute_each(
                (("HMGET", key, "mime", "data"), ("TTL", key))
            )
        mime, data = fields
        return (
            StoredFile(mime.decode(), data, int(ttl_s))
            if mime is not None and data is not None
            else None
        )

    async def erase(self, channel: str, names: Collection[str]) -> None:
        """Delete the files of a person of a channel, and of their own conversations.

        Args:
            names: the person's id, and the last parts of the ids of the conversations.
        """
        async with translate_errors():
            keys = await self._keys()
            owners = await self._client.execute_each(("HGET", key, "owner") for key in keys)
            theirs = [
                key
                for key, owner in zip(keys, owners, strict=True)
                if owner and _names(owner, channel, names)
            ]
            if theirs:
                await self._client.delete(*theirs)

    async def signing_key(self, proposed: bytes) -> bytes:
        """The key for addresses, the same for all processes; ``proposed`` if there was none."""
        _, name = files_keys()
        async with translate_errors():
            return bytes(await self._client.eval(SIGNING_KEY, 1, name, FILES_KEY_S, proposed))

    async def _keys(self) -> list[str]:
        """The keys of all files, the oldest first, with those that have expired."""
        index, _ = files_keys()
        return [key.decode() for key in cast(list[bytes], await self._client.zrange(index, 0, -1))]


def _names(owner: bytes, channel: str, names: Collection[str]) -> bool:
    first, *parts = owner.decode().split(":")
    return first == channel and not set(names).isdisjoint(parts)
