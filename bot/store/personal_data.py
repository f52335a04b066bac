"""Personal data outside conversations, as far as the index of what belongs to somebody names it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping

from bot.store.belongings import Belongings
from bot.store.clients import Client, translate_errors
from bot.store.frames import holds
from bot.store.keys import CONVERSATION_VALUES, PERSON_VALUES, kv_key

ERASE_S = 60.0
# Deletes what an entry of the index names of a person (channel and id), or all of it, for "".
Erase = Callable[[str, str], Awaitable[object]]


class PersonalData:
    """Deletes what belongs to a person or a place; it searches nothing."""

    def __init__(self, client: Client, belongings: Belongings) -> None:
        self._client = client
        self._belongings = belongings
        # By the kind of an entry: deletes what the entry of an owner names.
        self._kinds: Mapping[str, Erase] = {
            "value": lambda _, name: self._delete([kv_key(name)]),
        }

    async def erase_person(self, person: str, kept: Mapping[str, Erase]) -> None:
        """Delete a person's cached profile, and what features keep.

        Args:
            person: channel and id.
            kept: by features, each kind of entries with what deletes it.
        """
        keys = [kv_key(f"{kind}:{person}") for kind in PERSON_VALUES]
        async with translate_errors(ERASE_S):
            await self._delete(keys)
            await self._erase_entries(person, person, kept)

    async def erase_place(self, place: str, kept: Mapping[str, Erase]) -> None:
        """Delete what everybody has stored in a place or a conversation beside its history."""
        keys = [kv_key(f"{kind}:{place}") for kind in CONVERSATION_VALUES]
        async with translate_errors(ERASE_S):
            await self._delete(keys)
            await self._erase_entries(place, "", kept)

    async def erase_in_shared(self, conversations: Collection[str], author: str) -> None:
        """Delete the values of shared conversations that hold a person's id."""
        keys = [kv_key(f"{kind}:{one}") for kind in CONVERSATION_VALUES for one in conversations]
        async with translate_errors(ERASE_S):
            values = await self._client.execute_each(("GET", key) for key in keys)
            found = zip(keys, values, strict=True)
            await self._delete([key for key, value in found if value and holds(value, author)])

    async def _erase_entries(self, owner: str, person: str, kept: Mapping[str, Erase]) -> None:
        """Delete what the entries of an owner name: of a person's, what is theirs; of a place's,
        all."""
        kinds, done = {**self._kinds, **kept}, []
        for entry in await self._belongings.read(owner):
            kind, _, name = entry.partition(" ")
            if erase := kinds.get(kind):
                await erase(person, name)
                done.append(entry)
        await self._belongings.remove(owner, done)

    async def _delete(self, keys: Collection[str]) -> None:
        await self._client.execute_each(("DEL", key) for key in keys)
