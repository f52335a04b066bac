"""The ids of the messages that Kaiwa has sent in LINE: a quotation names one, and tells nothing
else of it."""

from __future__ import annotations

from collections.abc import Iterable

from bot.channels import KeyValue
from bot.channels.line.types import Chat

KEEP_S = 7 * 86_400


class OwnMessages:
    """Remembers which turn each sent message answered."""

    def __init__(self, kv: KeyValue) -> None:
        self._kv = kv

    def keep(self, chat: Chat, ids: Iterable[str], turn_id: str) -> None:
        """Remember messages, with the process's next request: the one that ends their delivery."""
        for message_id in ids:
            self._kv.set_later(_key(chat, message_id), turn_id.encode(), KEEP_S)

    async def turn_of(self, chat: Chat, message_id: str) -> str:
        """The turn of one of our messages; empty for any other message.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        return (await self._kv.get(_key(chat, message_id)) or b"").decode()


def _key(chat: Chat, message_id: str) -> str:
    return f"line:own:{chat.kind}:{chat.id}:{message_id}"
