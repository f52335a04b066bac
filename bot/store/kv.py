"""Small values with a lifetime, shared by all processes, such as cached display names and notices
already sent; the index of what belongs to a person or a place; and what was first seen of the tools
of MCP servers.

Whoever stores something of a person adds its entry to the index before, or in the same batch, so
that ``/forget me`` searches nothing. An entry is a kind and what it names, each without spaces:

    own, shared   conversation         where they have written, alone or with others
    value         name                 a value of ``kv``

Features add kinds of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, cast

from bot.store.clients import Scripts, translate_errors
from bot.store.keys import (
    CONVERSATION_VALUES,
    PERSON_VALUES,
    PINS,
    digest_of,
    holds,
    index_key,
    kv_key,
    pins_key,
)
from bot.store.server import Read

ERASE_S = 60.0  # for all that belongs to somebody
# A conversation belongs to one person, or to several.
OWN, SHARED = "own", "shared"
# Deletes what an entry of the index names of a person (channel and id), or all of it, for "".
Erase = Callable[[str, str], Awaitable[object]]


def entry_of(conversation: str, *, shared: bool) -> str:
    """The entry of somebody who has written in a conversation."""
    return f"{SHARED if shared else OWN} {conversation}"


class Belongings:
    """Entries by owner: a person, as channel and id, or a place. Each lives as long as it is said
    here, and some days more. Keys hold digests of the owners."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def add(self, owner: str, entry: str, ttl_s: int) -> None:
        """Add an entry, or let it live for ``ttl_s`` seconds from now; longer stays longer."""
        await self._scripts.call("index", [index_key(digest_of(owner))], [ttl_s, entry])

    def add_later(
        self, owner: str, entries: Collection[str], ttl_s: int
    ) -> asyncio.Future[list[Any]]:
        """The same with the process's next request; done, or failed, when that is answered."""
        return self.renew_later(digest_of(owner), entries, ttl_s)

    def renew_later(
        self, digest: str, entries: Collection[str], ttl_s: int
    ) -> asyncio.Future[list[Any]]:
        """The same for an owner of whom only the digest is known."""
        request = self._scripts.command("index", [index_key(digest)], [ttl_s, *entries])
        return self._scripts.send_later([request])

    async def read(self, owner: str) -> list[str]:
        """The entries of an owner, sorted; what some of them name may be over."""
        found = await self._scripts.ask("ZRANGE", index_key(digest_of(owner)), 0, -1)
        return sorted(entry.decode() for entry in found)

    async def remove(self, owner: str, entries: Collection[str]) -> None:
        """Remove entries; others that came meanwhile stay."""
        if entries:
            await self._scripts.transact([("ZREM", index_key(digest_of(owner)), *entries)])


class KeyValue:
    """Values by name. Losing one costs a look-up, never a message."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._belongings = Belongings(scripts)

    def prefetch(self, name: str) -> None:
        """Read a value with the process's next request; the next ``get`` within ``PREFETCHED_S``
        takes it."""
        self._scripts.prefetch(_read(name))

    async def get(self, name: str) -> bytes | None:
        """The value; None where there is none or it has expired."""
        (value,) = await self._scripts.read(_read(name))
        return cast("bytes | None", value)

    async def set(self, name: str, value: bytes, ttl_s: int, person: str = "") -> None:
        """Set a value for ``ttl_s`` seconds.

        Args:
            person: channel and id of somebody with whom it is forgotten, where its name does not
                say so (``keys.PERSON_VALUES``).
        """
        if person:
            await self._belongings.add(person, f"value {name}", ttl_s)
        self._scripts.drop(_read(name))
        await self._scripts.transact([("SET", kv_key(name), value, "EX", ttl_s)])

    def set_later(self, name: str, value: bytes, ttl_s: int, person: str = "") -> None:
        """The same with the process's next request. A failure is not reported."""
        if person:
            _ = self._belongings.add_later(person, [f"value {name}"], ttl_s)
        self._scripts.drop(_read(name))
        setting = self._scripts.transaction([("SET", kv_key(name), value, "EX", ttl_s)])
        _ = self._scripts.send_later([setting])

    async def set_if_absent(self, name: str, ttl_s: int) -> bool:
        """Set an empty value unless there is one; whether it was set."""
        setting = ("SET", kv_key(name), "", "NX", "EX", ttl_s)
        [done] = await self._scripts.transact([setting], is_read=True)
        return done is not None

    async def claim(self, name: str, holder: str, ttl_s: int) -> bool:
        """Set a value to its holder unless there is one; whether it is this holder's, also from an
        earlier attempt."""
        key = kv_key(name)
        setting = ("SET", key, holder, "NX", "EX", ttl_s)
        _, found = await self._scripts.transact([setting, ("GET", key)], is_read=True)
        return bool(found == holder.encode())

    async def incr(self, name: str, ttl_s: int) -> int:
        """Increase a counter and return it; it expires ``ttl_s`` seconds after the last
        increase."""
        key = kv_key(name)
        commands = [("INCR", key), ("EXPIRE", key, ttl_s)]
        counted, _ = await self._scripts.transact(commands, is_read=True)
        return int(counted)

    def add_later(self, name: str, amount: int, ttl_s: int) -> None:
        """Add to a counter with the process's next request. A failure is not reported."""
        key = kv_key(name)
        self._scripts.drop(_read(name))
        adding = self._scripts.transaction([("INCRBY", key, amount), ("EXPIRE", key, ttl_s)])
        _ = self._scripts.send_later([adding])

    async def delete(self, name: str) -> None:
        self._scripts.drop(_read(name))
        await self._scripts.ask("DEL", kv_key(name))


def _read(name: str) -> Read:
    return (("GET", kv_key(name)),)


class ToolPins:
    """A hash for each MCP server, from a tool's name to its digest. They never expire."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def pin(self, server: str, digests: Mapping[str, str]) -> dict[str, str]:
        """Pin the tools that have no pin, up to ``PINS``; the pins of all of them, by tool. A full
        store takes no pin."""
        known = await self.read(server)
        new = [name for name in digests if name not in known][: max(0, PINS - len(known))]
        key = pins_key(server)
        await self._scripts.ask_each(("HSETNX", key, name, digests[name]) for name in new)
        known = await self.read(server)
        return {name: known.get(name, "") for name in digests}

    async def read(self, server: str) -> dict[str, str]:
        """The pins of a server, by tool."""
        pinned = await self._scripts.ask("HGETALL", pins_key(server))
        return {name.decode(): digest.decode() for name, digest in pinned.items()}

    async def accept(self, server: str, digests: Mapping[str, str]) -> None:
        """Replace the pins of a server."""
        key = pins_key(server)
        fields = [("HSET", key, name, digest) for name, digest in digests.items()]
        await self._scripts.transact([("DEL", key), *fields])


class PersonalData:
    """Deletes what belongs to a person or a place outside conversations, as far as the index names
    it; it searches nothing."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._belongings = Belongings(scripts)

    async def erase_person(self, person: str, kept: Mapping[str, Erase]) -> None:
        """Delete a person's cached profile, and what features keep.

        Args:
            person: channel and id.
            kept: by features, each kind of entries with what deletes it.
        """
        await self._erase(PERSON_VALUES, person, person, kept)

    async def erase_place(self, place: str, kept: Mapping[str, Erase]) -> None:
        """Delete what everybody has stored in a place or a conversation beside its history."""
        await self._erase(CONVERSATION_VALUES, place, "", kept)

    async def erase_in_shared(self, conversations: Collection[str], author: str) -> None:
        """Delete the values of shared conversations that hold a person's id."""
        keys = [kv_key(f"{kind}:{one}") for kind in CONVERSATION_VALUES for one in conversations]
        async with translate_errors(ERASE_S):
            values = await self._scripts.ask_each(("GET", key) for key in keys)
            found = zip(keys, values, strict=True)
            await self._delete([key for key, value in found if value and holds(value, author)])

    async def _erase(
        self, values: Collection[str], owner: str, person: str, kept: Mapping[str, Erase]
    ) -> None:
        """Delete an owner's values, and what its entries name: of a person's, what is theirs; of a
        place's, all."""
        kinds: dict[str, Erase] = {"value": lambda _, name: self._delete([kv_key(name)]), **kept}
        done = []
        async with translate_errors(ERASE_S):
            await self._delete([kv_key(f"{kind}:{owner}") for kind in values])
            for entry in await self._belongings.read(owner):
                kind, _, name = entry.partition(" ")
                if erase := kinds.get(kind):
                    await erase(person, name)
                    done.append(entry)
            await self._belongings.remove(owner, done)

    async def _delete(self, keys: Collection[str]) -> None:
        await self._scripts.ask_each(("DEL", key) for key in keys)
