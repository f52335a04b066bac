"""The inbox: messages that wait for a turn, each accepted once."""

from __future__ import annotations

from enum import IntEnum

from bot.store.clients import ANSWER_S, Client, ask, translate_errors
from bot.store.frames import ARRIVAL, InboxEntry, unpack_waiting
from bot.store.keys import Keys, message_keys
from bot.store.scripts import Scripts


class Accepted(IntEnum):
    """The result of accepting a message; false for a duplicate.

    ``LEASED``: somebody holds the conversation's lease, and reads the inbox again before giving it
    back. ``FULL``: nothing of the message was stored.
    """

    DUPLICATE = 0
    NEW = 1
    LEASED = 2
    FULL = 3


class Inbox:
    """Accepts and reads messages.

    Args:
        priority_client: with connections that no turn uses.
        priority: scripts over these.
    """

    def __init__(self, client: Client, priority_client: Client, priority: Scripts) -> None:
        self._client = client
        self._priority_client = priority_client
        self._priority = priority

    async def find_conversation(self, message_id: str) -> str:
        """The conversation of a message that was accepted as ``indexed``; empty if it is not
        known."""
        async with translate_errors(ANSWER_S):
            found = await self._priority_client.execute_each(
                ("GET", key) for key in message_keys(message_id)
            )
        return next((value.decode() for value in found if value), "")

    async def read(self, conversation: str) -> list[InboxEntry]:
        """The waiting entries, oldest first."""
        frames = await ask(self._client, "LRANGE", Keys(conversation).inbox, 0, -1)
        return [unpack_waiting(frame) for frame in frames]

    async def accept(
        self,
        conversation: str,
        message_id: str,
        payload: bytes,
        kind: str = ARRIVAL,
        *,
        indexed: bool = False,
        changed_id: str = "",
        unsends: bool = False,
        always: bool = False,
        answers: bool = False,
    ) -> Accepted:
        """Accept a message unless its id was seen before; takes at most ``ANSWER_S``.

        Args:
            kind: ``ARRIVAL``, ``CHANGE``, ``CONTROL`` or ``ASIDE`` of ``bot.store.frames``.
            indexed: ``find_conversation`` finds it for as long as a history is kept.
            changed_id: of the message that this one edits or takes back. If that comes in later, it
                is a duplicate where it is taken back, and an edit comes in once more behind it.
            unsends: it takes the message back.
            always: a full inbox accepts it too.
            answers: a turn may wait for it, so the limits are doubled for it.

        Raises:
            StoreUnavailable: the platform must send it again; if it was stored after all, that is a
                duplicate.
        """
        how = "always" if always else "answers" if answers else ""
        change = "" if not changed_id else "unsent" if unsends else "edited"
        index = "indexed" if indexed else ""
        arguments = [conversation, kind, message_id, payload, how, change, index]
        own = Keys(conversation)
        keys = {
            "seen": own.seen(message_id),
            "changed": own.seen(changed_id),
            "index_entry": own.message(message_id),
        }
        # The limit counts the queue too: the webhook's sender waits for all of it.
        async with translate_errors(ANSWER_S):
            return Accepted(await self._priority.run("accept", conversation, arguments, keys))
