"""Personal data outside conversations: facts, keys and values of ``kv`` that name a person."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from typing import Any, cast

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
        self._erasing = asyncio.Lock()  # one person at a time: each scans every key

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
            gone = [await self._erase_named(channel, name) for name in names]
            await self._take_back_items(channel, names)
            await self._take_back_votes(channel, names)
            await self._feedback.forget([f"{channel}:{name}" for name in names])
            await self._take_back_words(channel, names)
            return sum(gone) + await self._erase_holding(channel, names, but)

    async def _erase_named(self, channel: str, name: str) -> int:
        found = self._client.scan_iter(personal_pattern(name), count=1_000)
        keys = [key async for raw in found if is_personal(key := raw.decode(), channel, name)]
        return await self._delete(keys)

    async def _take_back_items(self, channel: str, names: Collection[str]) -> None:
        """Delete what they have added to lists that others use too."""
        lists = [key async for key in self._client.scan_iter(lists_pattern(channel), count=1_000)]
        theirs = {digest_of(name).encode() for name in names}
        for key in lists:
            for number, value in (await self._client.hgetall(key)).items():
                if value[19:35] in theirs:
                    await self._client.execute_soon(("HDEL", key, number))

    async def _take_back_votes(self, channel: str, names: Collection[str]) -> None:
        """Delete the polls that they have started, and their votes in others."""
        polls = [
            key.decode()
            async for key in self._client.scan_iter(polls_pattern(channel), count=1_000)
        ]
        for key in polls:
            conversation, poll_id = poll_of(key)
            for name in names:
                await self._polls.withdraw(conversation, poll_id, name)

    async def _take_back_words(self, channel: str, names: Collection[str]) -> None:
        """Delete what they have written in groups without mentioning the bot."""
        groups = [
            key async for key in self._client.scan_iter(backgrounds_pattern(channel), count=1_000)
        ]
        theirs = {name.encode() for name in names}
        for key in groups:
            for entry in cast("list[bytes]", await self._client.zrange(key, 0, -1)):
                if entry.partition(b"\n")[0] in theirs:
                    await self._client.execute_soon(("ZREM", key, entry))

    async def _erase_holding(
        self, channel: str, names: Collection[str], but: Collection[str]
    ) -> int:
        holds = re.compile(
            rb"(?<![\w-])(?:%b)(?![\w-])" % b"|".join(re.escape(name.encode()) for name in names)
        )
        kv_keys = [raw.decode() async for raw in self._client.scan_iter(kv_pattern(), count=1_000)]
        kv_keys = [key for key in kv_keys if key.rpartition(":")[2] not in but]
        keys = [
            key
            for key in kv_keys
            if channel in (name := kv_name(key)).split(":") and not name.startswith(SETS)
        ]
        values: list[Any] = []
        for start in range(0, len(keys), BATCH):
            values += await self._client.execute_each(
                ("GET", key) for key in keys[start : start + BATCH]
            )
        return await self._delete(
            [key for key, value in zip(keys, values, strict=True) if value and holds.search(value)]
        )

    async def _delete(self, keys: list[str]) -> int:
        return sum([await self._client.delete(key) for key in keys])
