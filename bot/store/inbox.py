"""The inbox: messages that wait for a turn, each taken in once."""

from __future__ import annotations

from enum import IntEnum
from typing import cast

from bot.store.clients import ANSWER_S, Client
from bot.store.connection import translate_errors
from bot.store.frames import ARRIVAL, Waiting, unpack_waiting
from bot.store.keys import Keys
from bot.store.scripts import Scripts


class Accepted(IntEnum):
    """What has become of a message; false for a duplicate.

    Somebody ``ATTENDED`` to its conversation when it came in, and looks at the inbox again before leaving. Where the
    inbox was ``FULL``, nothing of the message was kept.
    """

    DUPLICATE = 0
    NEW = 1
    ATTENDED = 2
    FULL = 3


class Inbox:
    """Messages on their way in.

    Args:
        priority: scripts over connections that no turn uses.
    """

    def __init__(self, client: Client, priority: Scripts) -> None:
        self._client = client
        self._priority = priority

    async def read(self, conversation: str) -> list[Waiting]:
        """What waits, oldest first."""
        async with translate_errors():
            frames = cast("list[bytes]", await self._client.lrange(Keys(conversation).inbox, 0, -1))
        return [unpack_waiting(frame) for frame in frames]

    async def accept(
        self,
        conversation: str,
        message_id: str,
        payload: bytes,
        kind: str = ARRIVAL,
        *,
        always: bool = False,
        decides: bool = False,
    ) -> Accepted:
        """Take a message in, unless its id was seen before. Answers within 3 s, whatever the store does.

        Args:
            kind: ``ARRIVAL``, ``CHANGE``, ``CONTROL`` or ``ASIDE`` of ``bot.store.frames``.
            always: it gets into a full inbox too.
            decides: it is a yes or no, for which an inbox has twice the room.

        Raises:
            StoreUnavailable: the platform must send the message again; had it been kept, that is a duplicate.
        """
        how = "always" if always else "decides" if decides else ""
        entry = (kind, message_id, payload, how)
        async with translate_errors(ANSWER_S):  # waiting for others included: a webhook's sender waits for all of it
            return Accepted(await self._priority.run("accept", conversation, *entry, message_id=message_id))
