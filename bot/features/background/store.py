"""The newest messages of a group that do not mention the bot, for an hour.

They are a sorted set by time. An entry is its author's id, a line feed and the caller's bytes.
"""

from __future__ import annotations

from bot.store import Store
from bot.store.keys import Keys, person_of
from bot.store.server import Read

KIND = "background"  # also in the index of what belongs to somebody: a conversation
BACKGROUND_S = 3_600
MESSAGES = 20  # of one group, the newest


class StoredBackground:
    """Stores and reads unmentioned messages. Losing one costs background, never an answer."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, conversation: str, author: str, at: int, body: bytes) -> None:
        """Store a message for ``BACKGROUND_S``, as long as it is one of the newest; the same one
        again changes nothing.

        Args:
            author: the platform's id; may be empty.
            at: milliseconds since the epoch.
        """
        # It leaves in one batch with the message, and before it.
        owner, belongings = person_of(conversation, author), self._store.priority_belongings
        _ = belongings.add_later(owner, [f"{KIND} {conversation}"], BACKGROUND_S)
        arguments = [at, _entry(author, body), b"", MESSAGES, BACKGROUND_S]
        await self._store.priority_scripts.run("background.keep", conversation, arguments)

    def prefetch(self, conversation: str) -> None:
        """Read with the process's next request; the next ``read`` within ``PREFETCHED_S`` takes
        it."""
        self._store.scripts.prefetch(_read(conversation))

    async def read(self, conversation: str) -> list[bytes]:
        """The kept messages, oldest first; some may be older than ``BACKGROUND_S``."""
        (entries,) = await self._store.scripts.read(_read(conversation))
        return [entry.partition(b"\n")[2] for entry in entries]

    async def withdraw(self, person: str, conversation: str) -> None:
        """Delete what somebody has written there (``bot.store.Erase``)."""
        author, scripts = person.partition(":")[2], self._store.scripts
        scripts.drop(_read(conversation))
        (entries,) = await scripts.read(_read(conversation))
        theirs = [one for one in entries if one.startswith(_entry(author, b""))]
        if theirs:
            command: list[str | bytes] = ["ZREM", Keys(conversation).of(KIND)]
            await scripts.ask(*command + theirs)

    async def change(self, conversation: str, author: str, old: bytes, new: bytes) -> None:
        """Replace a message, if it is still there; an empty new one deletes it."""
        self._store.scripts.drop(_read(conversation))
        changed = _entry(author, new) if new else b""
        arguments = ["", changed, _entry(author, old), MESSAGES, BACKGROUND_S]
        await self._store.scripts.run("background.keep", conversation, arguments)


def _entry(author: str, body: bytes) -> bytes:
    return author.encode() + b"\n" + body


def _read(conversation: str) -> Read:
    return (("ZRANGE", Keys(conversation).of(KIND), 0, -1),)
