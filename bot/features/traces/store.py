"""Traces in the store.

kaiwa:{05}:traces:498704              shares of turns that began in this hour, and its bytes
kaiwa:{05}:traces:key                 the key of the digests
kaiwa:{07}:words:turn_5d0c            the words of a turn, in the shard of its conversation
kaiwa:{07}:worded:9f86d081884c7d65    the turns of a conversation that have words
kaiwa:{07}:traced:9f86d081884c7d65    whether it is private, and when its words were deleted
kaiwa:{11}:prompts:9f86d081884c7d65   a prompt or declarations of requests, by their digest
kaiwa:{02}:acts:2026-11-27            the record of acts, by turn and call
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

import structlog

from bot.clock import DAY_S, HOUR_S
from bot.features.traces.records import Act, Share, decode_act, decode_share, encode
from bot.store import Store
from bot.store.keys import Keys, shard_key, shard_of, shared_key
from bot.store.server import Command
from bot.transcript import UNREADABLE

log = structlog.stdlib.get_logger(__name__)

HOUR_MS = HOUR_S * 1000
ACTS_S = 90 * DAY_S
KEY_S = 100 * DAY_S  # longer than anything that holds a digest
PRIVATE_S = 400 * DAY_S  # after the last command
TURN_BYTES = 1024 * 1024  # of words
PAGE = 500  # shares read in one request
FIRST_BYTES = 64 * 1024  # of words, which hold the first message of a turn
PERSON_BYTES = 8  # of a keyed digest
DIGEST = re.compile(rf"[0-9a-f]{{{2 * PERSON_BYTES}}}")
MOST_DELETED = 500  # keys deleted in one request
KIND = "words"  # in the index of what belongs to somebody: a conversation
BYTES = (b"bytes", b"words")  # the fields of an hour's numbers
KEY = shared_key("traces", "key")


class Change(NamedTuple):
    """A share that takes the place of what was kept of it before.

    Attributes:
        stored: the share, encoded.
        words: bytes by which its words have grown.
    """

    share: Share
    stored: bytes
    words: int


class Traces:
    """Facts, words and acts. What is written without waiting leaves with the process's next
    request to the store; everything that waits raises ``StoreUnavailable``.

    Args:
        days: of facts.

    Attributes:
        known_key: that of the digests, once this process makes some.
    """

    def __init__(self, store: Store, days: int) -> None:
        self._scripts = store.scripts
        self._belongings = store.belongings
        self._ttl_s = days * DAY_S
        self.known_key = b""
        self.clock = store.clock
        self.before_next = store.scripts.client.before_next
        self.is_unanswered = store.scripts.is_unanswered

    def note_later(self, changes: Iterable[Change]) -> asyncio.Future[list[Any]]:
        """Keep shares; done, or failed, when that is answered."""
        by_hour: dict[int, list[Any]] = {}
        for share, stored, words in changes:
            hour = share.at // HOUR_MS
            if (arguments := by_hour.get(hour)) is None:
                arguments = by_hour[hour] = [self._ttl_s, 0]
            arguments[1] += words
            arguments += (f"{share.turn} {share.share}", stored)
        note = self._scripts.command
        commands = [note("traces.note", [shares_key(one)], by_hour[one]) for one in by_hour]
        return self._scripts.send_later(commands)

    def add_words_later(
        self, conversation: str, turn: str, began_at: int, records: bytes, hours: int
    ) -> asyncio.Future[list[Any]]:
        """Add records of words to those of a turn, unless the conversation is private or the words
        of turns like it were deleted."""
        shard, own = shard_of(conversation), (worded_key(conversation), traced_key(conversation))
        names = [words_key(shard, turn), *own]
        arguments = [turn, began_at, hours * 3_600, TURN_BYTES, records]
        return self._scripts.send_later([self._scripts.command("traces.words", names, arguments)])

    def index_later(self, person: str, conversation: str, hours: int) -> asyncio.Future[list[Any]]:
        """Have the words of a conversation deleted with what belongs to a person, who may not be
        known to have written there."""
        entry = f"{KIND} {conversation}"
        return self._belongings.add_later(person, [entry], hours * HOUR_S)

    async def erase(self, person: str, conversation: str) -> None:
        """Delete what such an entry names (``bot.store.Erase``)."""
        await self.delete_words(conversation)

    def keep_prompt_later(
        self, digest: str, prompt: bytes, hours: int
    ) -> asyncio.Future[list[Any]]:
        """Keep what many requests share, under its digest; done, or failed, when that is
        answered."""
        key = shared_key("prompts", digest)
        return self._scripts.send_later([("SET", key, prompt, "EX", hours * HOUR_S)])

    def keep_act_later(self, act: Act, name: str) -> asyncio.Future[list[Any]]:
        """Keep an act in the record; ``name`` is unique within its turn."""
        return self._scripts.send_later([self._scripts.transaction(_keeping(act, name))])

    async def keep_acts(self, acts: Iterable[Act]) -> None:
        """Keep looks at words in the record, before they are shown."""
        keeping: list[Command] = []
        for act in acts:
            keeping += _keeping(act, f"{act.who} {act.at} {secrets.token_hex(3)}")
        await self._scripts.transact(keeping)

    def read_key_later(self) -> asyncio.Future[list[Any]]:
        """The last of its replies is the key of the digests, also of a full store; one is made if
        there was none."""
        proposed = secrets.token_bytes(32)
        setting = ("SET", KEY, proposed, "NX", "EX", KEY_S)
        reading = [setting, ("EXPIRE", KEY, KEY_S), ("GET", KEY)]
        return self._scripts.send_later([self._scripts.transaction(reading, is_read=True)])

    async def read_key(self) -> bytes:
        """The key of the digests; empty if nothing was traced yet."""
        return bytes(await self._scripts.ask("GET", KEY) or b"")

    async def digest_of(self, name: str) -> str:
        """The keyed digest of a conversation or place, of which that or the id is given; empty for
        none."""
        return name if not name or DIGEST.fullmatch(name) else keyed(await self.read_key(), name)

    async def lengthen_key(self) -> None:
        """Have the key of the digests kept for as long as they are made, also by a store that has
        lost its data."""
        keeping: list[Command] = [("EXPIRE", KEY, KEY_S)]
        if self.known_key:
            keeping.append(("SET", KEY, self.known_key, "NX", "EX", KEY_S))
        await self._scripts.transact(keeping)

    async def delete_words(self, conversation: str) -> int:
        """Delete the words of all turns of a conversation; those under way keep none from now on.
        The time of that, by the store's clock, milliseconds since the epoch."""
        traced, deleted_at = traced_key(conversation), self.clock()
        mark = [("HSET", traced, "deleted_at", deleted_at), ("EXPIRE", traced, PRIVATE_S)]
        await self._scripts.transact(mark)
        key, shard = worded_key(conversation), shard_of(conversation)
        turns = await self._scripts.ask("ZRANGE", key, 0, -1)
        await self._delete(words_key(shard, turn.decode()) for turn in turns)
        # One that has begun meanwhile stays.
        await self._scripts.ask_each(("ZREM", key, turn) for turn in turns)
        return deleted_at

    async def set_private(self, conversation: str, *, private: bool) -> None:
        """Have no words of a conversation kept, or have those of turns kept that begin from now
        on."""
        traced = traced_key(conversation)
        setting: tuple[Any, ...] = ("HDEL", traced, "private")
        if private:
            setting = ("HSET", traced, "private", 1)
        mark = ("HSET", traced, "deleted_at", self.clock())
        await self._scripts.transact([setting, mark, ("EXPIRE", traced, PRIVATE_S)])
        if private:
            await self.delete_words(conversation)

    async def is_private(self, conversation: str) -> bool:
        return bool(await self._scripts.ask("HEXISTS", traced_key(conversation), "private"))

    async def hours(self, words_hours: int = 0) -> dict[int, int]:
        """The hours of which something is kept, the newest first, each with its bytes: of words
        only where they are that young."""
        last, count = hour_of(self.clock()), self._ttl_s // HOUR_S
        hours = range(last, last - count - 2, -1)
        stored = await self._scripts.ask_each(("HMGET", shares_key(one), *BYTES) for one in hours)
        found: dict[int, int] = {}
        for hour, (facts, words) in zip(hours, stored, strict=True):
            if facts:
                is_young = hour >= last - words_hours
                found[hour] = int(facts) + (int(words or 0) if is_young else 0)
        return found

    async def shares(self, hour: int, turn: str = "*") -> AsyncIterator[list[Share]]:
        """The shares of turns that began in an hour, or of one turn, some hundreds at a time, in no
        order; one that changes meanwhile may come twice. Unreadable ones are left out."""
        cursor: int | bytes = b"0"
        while True:
            cursor, fields = await self._scripts.ask(
                "HSCAN", shares_key(hour), cursor, "MATCH", f"{turn} *", "COUNT", PAGE
            )
            pairs = fields.items() if isinstance(fields, Mapping) else _pairs(fields)
            yield _readable(value for _, value in pairs)
            if int(cursor) == 0:
                return

    async def words(self, shard: int, turn: str) -> bytes:
        """The records of a turn's words; empty where none are kept."""
        return bytes(await self._scripts.ask("GET", words_key(shard, turn)) or b"")

    async def first_words(self, turns: Iterable[tuple[int, str]]) -> list[bytes]:
        """The beginnings of turns' words, by shard and id; empty where none are kept."""
        keys = [words_key(shard, turn) for shard, turn in turns]
        return await self._scripts.ask_each(("GETRANGE", key, 0, FIRST_BYTES) for key in keys)

    async def prompts(self, digests: Collection[str]) -> dict[str, bytes]:
        """Those of these prompts that are still kept."""
        keys = [("GET", shared_key("prompts", digest)) for digest in digests]
        found = await self._scripts.ask_each(keys)
        return {one: bytes(text) for one, text in zip(digests, found, strict=True) if text}

    async def acts(self, days: Iterable[str]) -> list[Act]:
        """The record of acts of these days, the oldest first; unreadable ones are left out."""
        stored = await self._scripts.ask_each(("HVALS", acts_key(day)) for day in days)
        found, unreadable = [], 0
        for value in chain.from_iterable(stored):
            try:
                found.append(decode_act(value))
            except UNREADABLE:
                unreadable += 1
        if unreadable:
            log.error("traces.unreadable", count=unreadable)
        return sorted(found, key=lambda act: act.at)

    async def delete_hour(self, hour: int) -> None:
        """Delete all facts and words of turns that began in an hour."""
        async for shares in self.shares(hour):
            await self._delete(words_key(one.shard, one.turn) for one in shares if one.words)
        await self._scripts.ask("DEL", shares_key(hour))

    async def trim_hour(self, hour: int, bytes_of: int) -> None:
        """Delete the oldest facts and words of an hour, so many bytes."""
        shares = [share async for some in self.shares(hour) for share in some]
        fields, words, freed, freed_words = list[str](), list[str](), 0, 0
        for share in sorted(shares, key=lambda one: one.at):
            if freed + freed_words >= bytes_of:
                break
            freed += len(encode(share))
            freed_words += share.words - share.refused
            fields.append(f"{share.turn} {share.share}")
            if share.words:
                words.append(words_key(share.shard, share.turn))
        await self._delete(words)
        key = shares_key(hour)
        for start in range(0, len(fields), MOST_DELETED):
            command: list[str] = ["HDEL", key]
            await self._scripts.ask(*command + fields[start : start + MOST_DELETED])
        less = zip(BYTES, (freed, freed_words), strict=True)
        await self._scripts.ask_each(("HINCRBY", key, field, -count) for field, count in less)

    async def _delete(self, keys: Iterable[str]) -> None:
        names = sorted(set(keys))
        for start in range(0, len(names), MOST_DELETED):
            batch = names[start : start + MOST_DELETED]
            await self._scripts.ask_each(("DEL", key) for key in batch)


def _keeping(act: Act, name: str) -> list[Command]:
    key, field = acts_key(day_of(act.at)), f"{act.turn} {name}"
    return [("HSET", key, field, encode(act)), ("EXPIRE", key, ACTS_S)]


def hour_of(at: int) -> int:
    """The number of the hour of a time (ms) since the epoch."""
    return at // HOUR_MS


def keyed(key: bytes, text: str) -> str:
    """The digest that stands for a person or a place; empty for nobody. BLAKE2 with a key is a
    message authentication code, as HMAC is."""
    data = text.encode("utf-8", "replace")
    return blake2b(data, key=key, digest_size=PERSON_BYTES).hexdigest() if text else ""


def day_of(at: int) -> str:
    """The day (UTC) of a time, as it names a key."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d")


@lru_cache(maxsize=8)  # the last one is asked for with every step
def shares_key(hour: int) -> str:
    """The key of the shares of an hour; all hours share a slot."""
    return shared_key("traces", str(hour))


def acts_key(day: str) -> str:
    """The key of the acts of a day."""
    return shared_key("acts", day)


def traced_key(conversation: str) -> str:
    """The key of what is noted of a conversation."""
    return Keys(conversation).unnamed("traced")


def worded_key(conversation: str) -> str:
    """The key of the turns of a conversation that have words."""
    return Keys(conversation).unnamed("worded")


def words_key(shard: int, turn: str) -> str:
    """The key of a turn's words."""
    return shard_key(shard, "words", turn)


def _pairs(flat: list[bytes]) -> Iterable[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _readable(values: Iterable[bytes]) -> list[Share]:
    found, unreadable = [], 0
    for value in values:
        try:
            found.append(decode_share(value))
        except UNREADABLE:
            unreadable += 1
    if unreadable:
        log.error("traces.unreadable", count=unreadable)
    return found
