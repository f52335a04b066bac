"""Between which languages the messages of a group are translated: one key of its conversation."""

from __future__ import annotations

from bot.clock import DAY_S
from bot.store import Store
from bot.store.keys import Keys

KIND = "interpreter"
LANGUAGES_S = 30 * DAY_S  # after the group's last message


class Languages:
    """The languages by conversation, as the codes of two with a space between; empty for none."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def set(self, conversation: str, languages: str) -> None:
        """Have unmentioned messages translated between these languages; empty: no longer."""
        key = _key(conversation)
        command = ("SET", key, languages, "EX", LANGUAGES_S) if languages else ("DEL", key)
        # Also in a full store: somebody may want the interpreter to end.
        await self._store.scripts.transact([command])

    async def read(self, conversation: str) -> str:
        languages = await self._store.scripts.ask("GET", _key(conversation))
        return (languages or b"").decode()

    async def renew(self, conversation: str) -> str:
        """The same over the priority connections; from now on it lives as long as after ``set``."""
        command = "GETEX", _key(conversation), "EX", LANGUAGES_S
        return (await self._store.priority_scripts.ask(*command) or b"").decode()


def _key(conversation: str) -> str:
    return Keys(conversation).of(KIND)
