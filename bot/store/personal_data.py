"""Personal data outside conversations: facts, keys and values of ``kv`` that name a person."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from typing import Any

from bot.store.clients import Client, translate_errors
from bot.store.feedback import Feedback
from bot.store.keys import (
    backgrounds_pattern,
    is_personal,
    kv_name,
    kv_pattern,
    lists_pattern,
    personal_pattern,
    poll_of,
    polls_pattern,
)
from bot.store.lists import digest_of
from bot.store.polls import Polls

ERASE_S = 60.0
BATCH = 500
SETS = "person:"  # sets of kv, which GET cannot read; their names tell whose they are


class PersonalData:
    """Finds and deletes what names a person, by a scan of every key: for the rare ``/forget
    me``."""

    def __init__(self, client: Client, polls: Polls, feedback: Feedback) -> None:
        self._client = client
        self._polls = polls
        self._feedback = feedback
        # One person at a time: each scans every key.
        self._erasing = asyncio.Lock()

    async def erase(self, channel: str, names: Collection[str], but: Collection[str] = ()) -> int:
        """Delete every value of ``kv`` with one of the names in key or value; facts, lists and
        polls with one in the key; what they have added to other lists;
        their polls, votes and ratings; what they have written in groups without mentioning the bot.

        Args:
            names: the person's id, and the last parts of the ids of their direct conversations.
            but: a value of ``kv`` that holds a name stays if the last part of its key is one of
                these.

        Returns:
            The number of deleted keys.
        """
        async with self._erasing, translate_errors(ERASE_S):
            gone = 0
            for name in names:
                gone += await self._erase_named(channel, name)
            await self._take_back_items(channel, names)
            await self._take_back_votes(channel, names)
            await self._feedback.forget([f"{channel}:{name}" for name in names])
            await self._take_back_words(channel, names)
            return gone + await self._erase_holding(channel, names, but)

    async def _erase_named(self, channel: str, name: str) -> int:
        keys = await self._scan(personal_pattern(name))
        return await self._delete([key for key in keys if is_personal(key, channel, name)])

    async def _scan(self, pattern: str) -> list[str]:
        return [key.decode() async for key in self._client.scan_iter(pattern, count=1_000)]

    async def _take_back_items(self, channel: str, names: Collection[str]) -> None:
        """Delete what they have added to lists that others use too."""
        theirs = {digest_of(name).encode() for name in names}
        lists = await self._scan(lists_pattern(channel))
        async for key, items in self._read(lists, "HGETALL"):
            for number, value in items.items():
                if value[19:35] in theirs:
                    await self._client.execute_soon(("HDEL", key, number))

    async def _take_back_votes(self, channel: str, names: Collection[str]) -> None:
        """Delete the polls that they have started, and their votes in others."""
        for batch in _batches(await self._scan(polls_pattern(channel))):
            await self._polls.withdraw([poll_of(key) for key in batch], names)

    async def _take_back_words(self, channel: str, names: Collection[str]) -> None:
        """Delete what they have written in groups without mentioning the bot."""
        theirs = {name.encode() for name in names}
        groups = await self._scan(backgrounds_pattern(channel))
        async for key, entries in self._read(groups, "ZRANGE", 0, -1):
            for entry in entries:
                if entry.partition(b"\n")[0] in theirs:
                    await self._client.execute_soon(("ZREM", key, entry))

    async def _erase_holding(
        self, channel: str, names: Collection[str], but: Collection[str]
    ) -> int:
        any_name = b"|".join(re.escape(name.encode()) for name in names)
        holds = re.compile(rb"(?<![\w-])(?:%b)(?![\w-])" % any_name)
        keys, held = [], []
        for key in await self._scan(kv_pattern()):
            name = kv_name(key)
            is_excepted = key.rpartition(":")[2] in but or name.startswith(SETS)
            if channel in name.split(":") and not is_excepted:
                keys.append(key)
        async for key, value in self._read(keys, "GET"):
            if value and holds.search(value):
                held.append(key)
        return await self._delete(held)

    async def _read(
        self, keys: Sequence[str], command: str, *options: int
    ) -> AsyncIterator[tuple[str, Any]]:
        """Each key with its value: one request each would take seconds."""
        for batch in _batches(keys):
            values = await self._client.execute_each((command, key, *options) for key in batch)
            for key, value in zip(batch, values, strict=True):
                yield key, value

    async def _delete(self, keys: list[str]) -> int:
        deleted = 0
        for key in keys:
            deleted += await self._client.delete(key)
        return deleted


def _batches(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), BATCH):
        yield keys[start : start + BATCH]
