"""Personal data outside conversations: facts, keys and values of ``kv`` that name a person, and
bytes of deleted dead letters."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from typing import Any

from bot.store.clients import Client, translate_errors
from bot.store.feedback import Feedback
from bot.store.keys import (
    DEAD_S,
    backgrounds_pattern,
    dead_letter_streams,
    is_personal,
    kv_name,
    kv_pattern,
    lists_pattern,
    open_polls_of,
    personal_pattern,
    polls_pattern,
)
from bot.store.lists import digest_of

ERASE_S = 60.0
BATCH = 500
# Items of lists that somebody has added, by the digest of their id.
TAKE_BACK = """#!lua flags=allow-oom
local stored = redis.call('HGETALL', KEYS[1])
for index = 1, #stored, 2 do
    if string.sub(stored[index + 1], 20, 35) == ARGV[1] then
        redis.call('HDEL', KEYS[1], stored[index])
    end
end
"""

# A poll that somebody has started goes; of another one, what they have voted.
TAKE_BACK_VOTE = """#!lua flags=allow-oom
local poll, open, person, id = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
if redis.call('HGET', poll, 'creator') == person then
    redis.call('DEL', poll)
    redis.call('ZREM', open, id)
    return
end
local chosen = redis.call('HGET', poll, 'by:' .. person)
if chosen then
    for option = 1, #chosen do
        if string.sub(chosen, option, option) == '1' then
            redis.call('HINCRBY', poll, 'count:' .. option, -1)
        end
    end
    redis.call('HINCRBY', poll, 'voters', -1)
    redis.call('HDEL', poll, 'by:' .. person, 'shows') -- what was to show it may have gone too
end
"""

# Unmentioned messages that somebody has written in a group.
TAKE_BACK_WORDS = """#!lua flags=allow-oom
for _, entry in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    if string.sub(entry, 1, #ARGV[1] + 1) == ARGV[1] .. '\\n' then
        redis.call('ZREM', KEYS[1], entry)
    end
end
"""

SETS = "person:"  # sets of kv, which GET cannot read; their names tell whose they are

# A stream keeps the bytes of a deleted entry while it has other entries, so it is rewritten.
COMPACT = """#!lua flags=allow-oom
local letters = KEYS[1]
if redis.call('EXISTS', letters) == 0 then
    return 0
end
local entries = redis.call('XRANGE', letters, '-', '+')
redis.call('DEL', letters)
for _, entry in ipairs(entries) do
    redis.call('XADD', letters, entry[1], unpack(entry[2]))
end
redis.call('EXPIRE', letters, ARGV[1])
return #entries
"""


class PersonalData:
    """Finds and deletes what names a person, by a scan of every key: for the rare ``/forget
    me``."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._feedback = Feedback(client)
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

    async def compact(self) -> None:
        """Rewrite the streams of dead letters, so that no byte of a deleted one is left."""
        async with translate_errors(ERASE_S):
            _ = await self._client.execute_each(
                ("EVAL", COMPACT, 1, letters, DEAD_S) for letters in dead_letter_streams()
            )

    async def _erase_named(self, channel: str, name: str) -> int:
        found = self._client.scan_iter(personal_pattern(name), count=1_000)
        keys = [key async for raw in found if is_personal(key := raw.decode(), channel, name)]
        return await self._delete(keys)

    async def _take_back_items(self, channel: str, names: Collection[str]) -> None:
        """Delete what they have added to lists that others use too."""
        lists = [key async for key in self._client.scan_iter(lists_pattern(channel), count=1_000)]
        takes = [("EVAL", TAKE_BACK, 1, key, digest_of(name)) for key in lists for name in names]
        for start in range(0, len(takes), BATCH):
            await self._client.execute_each(takes[start : start + BATCH])

    async def _take_back_votes(self, channel: str, names: Collection[str]) -> None:
        """Delete the polls that they have started, and their votes in others."""
        polls = [
            key.decode()
            async for key in self._client.scan_iter(polls_pattern(channel), count=1_000)
        ]
        takes = []
        for key in polls:
            open_polls, poll_id = open_polls_of(key)
            takes += [
                ("EVAL", TAKE_BACK_VOTE, 2, key, open_polls, digest_of(name), poll_id)
                for name in names
            ]
        for start in range(0, len(takes), BATCH):
            await self._client.execute_each(takes[start : start + BATCH])

    async def _take_back_words(self, channel: str, names: Collection[str]) -> None:
        """Delete what they have written in groups without mentioning the bot."""
        groups = [
            key async for key in self._client.scan_iter(backgrounds_pattern(channel), count=1_000)
        ]
        takes = [("EVAL", TAKE_BACK_WORDS, 1, key, name) for key in groups for name in names]
        for start in range(0, len(takes), BATCH):
            await self._client.execute_each(takes[start : start + BATCH])

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
