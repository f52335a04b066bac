"""Files of tool calls and of messages on the page, each for a day.

All are within two limits: the oldest make room for a new one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from bot.store.clients import Scripts
from bot.store.keys import FILES, FILES_INDEX, FILES_KEY, FILES_KEY_S, FILES_S

FILES_BYTES = 16 * 1024 * 1024  # of all files, where nothing else is said
MOST_FILES = 1_000  # whatever their size: each new one looks at all others
OWN_SERVER_FILES_BYTES = 64 * 1024 * 1024  # on a server of the operator's

# A file's value is its owner, a line feed, its type, a line feed and the data; an index holds the
# keys of all files by their age.
HEAD = 500  # characters, in which the owner stands


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

    def __init__(self, scripts: Scripts, most: int) -> None:
        self._scripts = scripts
        self._most = most

    async def keep(self, file_id: str, owner: FileOwner, mime: str, data: bytes) -> None:
        """Store a file for a day, or the same again; the oldest make room. A full store takes no
        file."""
        key, now_s = _key(file_id), await self._scripts.now_ms("files") // 1000
        value = f"{owner}\n{mime}\n".encode() + data
        storing = [
            ("SET", key, value, "EX", FILES_S),
            ("ZADD", FILES_INDEX, now_s, key),
            ("EXPIRE", FILES_INDEX, FILES_S),
        ]
        await self._scripts.ask_each(storing)
        await self._make_room(key)

    async def _make_room(self, newest: str) -> None:
        """Delete the oldest files beyond the limits, and the index entries of expired ones."""
        keys = [key for key in await self._keys() if key != newest]
        keys.append(newest)
        sizes = await self._scripts.ask_each(("STRLEN", key) for key in keys)
        total = count = 0
        for key, size in zip(reversed(keys), reversed(sizes), strict=True):
            total += size
            count += min(size, 1)
            if not size or total > self._most or count > MOST_FILES:
                await self._scripts.ask_each([("DEL", key), ("ZREM", FILES_INDEX, key)])

    async def read(self, file_id: str) -> StoredFile | None:
        """A file; None if its day is over, or it had to make room."""
        key = _key(file_id)
        value, ttl_s = await self._scripts.ask_each([("GET", key), ("TTL", key)])
        if value is None:
            return None
        _, mime, data = value.split(b"\n", 2)
        return StoredFile(mime.decode(), data, int(ttl_s))

    async def erase(self, channel: str, names: Collection[str]) -> None:
        """Delete the files of a person of a channel, and of their own conversations.

        Args:
            names: the person's id, and the last parts of the ids of the conversations.
        """
        keys = await self._keys()
        heads = await self._scripts.ask_each(("GETRANGE", key, 0, HEAD) for key in keys)
        for key, head in zip(keys, heads, strict=True):
            if _names(head.partition(b"\n")[0], channel, names):
                await self._scripts.ask("DEL", key)

    async def signing_key(self, proposed: bytes) -> bytes:
        """The key for addresses, the same for all processes; ``proposed`` if there was none."""
        setting = ("SET", FILES_KEY, proposed, "NX", "EX", FILES_KEY_S)
        commands = [setting, ("EXPIRE", FILES_KEY, FILES_KEY_S), ("GET", FILES_KEY)]
        replies = await self._scripts.transact(commands, is_read=True)
        return bytes(replies[-1])

    async def _keys(self) -> list[str]:
        """The keys of all files, the oldest first, with those that have expired."""
        keys: list[bytes] = await self._scripts.ask("ZRANGE", FILES_INDEX, 0, -1)
        return [key.decode() for key in keys]


def _key(file_id: str) -> str:
    return f"{FILES}file:{file_id}"


def _names(owner: bytes, channel: str, names: Collection[str]) -> bool:
    first, *parts = owner.decode(errors="replace").split(":")
    return first == channel and not set(names).isdisjoint(parts)
