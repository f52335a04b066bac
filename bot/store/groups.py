"""The newest messages of a group that do not mention the bot, for an hour.

They are a sorted set by time. An entry is its author's id, a line feed and the caller's
bytes.
"""

from __future__ import annotations

from bot.store.belongings import Belongings
from bot.store.clients import ANSWER_S, Client, translate_errors
from bot.store.keys import BACKGROUND_S, Keys, person_of
from bot.store.queues import Prefetches, Read
from bot.store.scripts import Scripts


class Groups:
    """Stores and reads unmentioned messages. Losing one costs background, never an answer.

    Args:
        priority: scripts over connections that no turn uses.
        belongings: the index, over the same connections.
    """

    def __init__(
        self,
        client: Client,
        scripts: Scripts,
        priority: Scripts,
        belongings: Belongings,
        prefetches: Prefetches,
    ) -> None:
        self._client = client
        self._scripts = scripts
        self._priority = priority
        self._belongings = belongings
        self._prefetches = prefetches

    async def receive(self, conversation: str, author: str, at: int, body: bytes) -> None:
        """Store a message for ``BACKGROUND_S``, as long as it is one of the newest; the same one
        again changes nothing.

        Args:
            author: the platform's id; may be empty.
            at: milliseconds since the epoch.
        """
        # It leaves in one batch with the message, and before it.
        owner = person_of(conversation, author)
        _ = self._belongings.add_later(owner, [f"background {conversation}"], BACKGROUND_S)
        async with translate_errors(ANSWER_S):  # the webhook's sender waits
            await self._priority.run("background", conversation, [at, _entry(author, body), b""])

    def prefetch(self, conversation: str) -> None:
        """Read with the process's next request; the next ``read`` within ``PREFETCHED_S`` takes
        it."""
        self._prefetches.begin(_read(conversation))

    async def read(self, conversation: str) -> list[bytes]:
        """The kept messages, oldest first; some may be older than ``BACKGROUND_S``."""
        async with translate_errors():
            (entries,) = await self._prefetches.take(_read(conversation))
        return [entry.partition(b"\n")[2] for entry in entries]

    async def withdraw(self, conversation: str, author: str) -> None:
        """Delete what somebody has written there."""
        self._prefetches.drop(_read(conversation))
        async with translate_errors():
            (entries,) = await self._client.submit(_read(conversation))
            theirs = [one for one in entries if one.startswith(_entry(author, b""))]
            if theirs:
                key = Keys(conversation).background
                await self._client.execute_soon(("ZREM", key, *theirs))

    async def change(self, conversation: str, author: str, old: bytes, new: bytes) -> None:
        """Replace a message, if it is still there; an empty new one deletes it."""
        self._prefetches.drop(_read(conversation))
        changed = _entry(author, new) if new else b""
        await self._scripts.run("background", conversation, ["", changed, _entry(author, old)])


def _entry(author: str, body: bytes) -> bytes:
    return author.encode() + b"\n" + body


def _read(conversation: str) -> Read:
    return (("ZRANGE", Keys(conversation).background, 0, -1),)
