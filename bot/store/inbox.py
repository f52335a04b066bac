"""The inbox: messages that wait for a turn, each taken in once."""

from __future__ import annotations

from bot.store.entries import ARRIVAL, pack
from bot.store.scripts import Scripts


class Inbox:
    """Messages on their way in."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def accept(self, conversation: str, message_id: str, payload: bytes) -> bool:
        """Take a message in; false where its id was seen before. Answers within 3 s, whatever the store does.

        Raises:
            StoreUnavailable: the platform must send the message again; had it been kept, that is a duplicate.
        """
        entry = pack(ARRIVAL, message_id, payload)
        return bool(await self._scripts.run("accept", conversation, entry, message_id=message_id))
