"""The index of what belongs to a person or a place, so that ``/forget me`` searches nothing.

Whoever stores something of a person adds its entry before, or in the same batch. An entry is a kind
and what it names, each without spaces:

    own, shared   conversation         where they have written, alone or with others
    value         name                 a value of ``kv``

Features add kinds of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from bot.store.clients import Client, ask
from bot.store.keys import digest_of, index_key
from bot.store.queues import ignore_failure
from bot.store.scripts import Scripts

# A conversation belongs to one person, or to several.
OWN, SHARED = "own", "shared"


def entry_of(conversation: str, *, shared: bool) -> str:
    """The entry of somebody who has written in a conversation."""
    return f"{SHARED if shared else OWN} {conversation}"


class Belongings:
    """Entries by owner: a person, as channel and id, or a place. Each lives as long as it is said
    here, and some days more. Keys hold digests of the owners."""

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
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
        adding = self._client.submit_later([request])
        adding.add_done_callback(ignore_failure)
        return adding

    async def read(self, owner: str) -> list[str]:
        """The entries of an owner, sorted; what some of them name may be over."""
        found = await ask(self._client, "ZRANGE", index_key(digest_of(owner)), 0, -1)
        return sorted(entry.decode() for entry in found)

    async def remove(self, owner: str, entries: Collection[str]) -> None:
        """Remove entries; others that came meanwhile stay."""
        if entries:
            request = ("ZREM", index_key(digest_of(owner)), *entries)
            await self._scripts.transact([request])
