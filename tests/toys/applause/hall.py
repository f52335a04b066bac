"""What the feature keeps: the claps of each person, in each conversation."""

from __future__ import annotations

from bot.clock import DAY_S
from bot.store import Store
from bot.store.keys import Keys, digest_of, person_of
from bot.transcript import Message

KIND = "applause"  # of keys, and in the index of what belongs to people


class Hall:
    """The claps of one conversation."""

    def __init__(self, store: Store, conversation: str) -> None:
        self._store = store
        self._conversation = conversation
        self.name = ""

    def open(self, name: str) -> None:
        """Have the answer of this turn ask for applause."""
        self.name = name

    async def clap(self, author: str, press_id: str) -> None:
        """Count a press, once."""
        person = person_of(self._conversation, author)
        await self._store.belongings.add(person, f"{KIND} {self._conversation}", DAY_S)
        seen = {"seen": Keys(self._conversation).seen(press_id)}
        arguments = [digest_of(person), DAY_S]
        await self._store.scripts.run("applause.clap", self._conversation, arguments, seen)

    async def count(self) -> int:
        """The claps of everybody."""
        claps = await self._store.scripts.ask("HVALS", Keys(self._conversation).of(KIND))
        return sum(map(int, claps))

    async def forget(self, person: str) -> None:
        """Delete somebody's claps."""
        await self._store.scripts.ask("HDEL", Keys(self._conversation).of(KIND), digest_of(person))


def names_in(messages: list[Message]) -> list[str]:
    """For whom the calls of a turn ask for applause."""
    found = []
    for message in messages:
        for result in message.results:
            if result.name == "applaud" and not result.is_error:
                found.append(str(result.response["name"]))
    return found
