"""Facts that people want remembered: one hash for each person and place, from a fact's number to
its text."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from bot.store.clients import Client, translate_errors
from bot.store.keys import FACT_CHARACTERS, FACTS, FACTS_S, INDEX_S, facts_keys
from bot.store.queues import Command, Prefetches, ignore_failure

# The field ``last`` holds the newest number, so that none is given twice. A value is ``digest
# text``: the digest is of the idempotency key. A full store takes no new fact.
REMEMBER = """#!lua
local facts, most, digest, text = KEYS[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local stored, count = redis.call('HGETALL', facts), 0
for index = 1, #stored, 2 do
    if stored[index] ~= 'last' then
        count = count + 1
        local made_by, known = string.match(stored[index + 1], '^(%x+) (.*)$')
        if made_by == digest or known == text then
            return tonumber(stored[index])
        end
    end
end
if count >= most then
    return 0
end
local number = redis.call('HINCRBY', facts, 'last', 1)
redis.call('HSET', facts, number, digest .. ' ' .. text)
redis.call('EXPIRE', facts, ARGV[1])
return number
"""

# The mark has the append-only file rewritten, which would keep the text.
FORGET = """#!lua flags=allow-oom
local facts, forgotten = KEYS[1], KEYS[2]
if redis.call('HDEL', facts, ARGV[1]) == 1 then
    local now = redis.call('TIME')
    redis.call('SET', forgotten, now[1] * 1000 + math.floor(now[2] / 1000), 'EX', ARGV[2])
end
return tonumber(redis.call('HGET', facts, 'last') or 0) >= tonumber(ARGV[1])
"""


class Fact(NamedTuple):
    """One fact; the number stays the same as long as the fact is kept."""

    number: int
    text: str


class PersonFacts:
    """Facts by place and person. They expire ``FACTS_S`` after they were last read or added to."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._prefetches = Prefetches(client.execute_later, client.execute_soon)

    def prefetch(self, place: str, person: str) -> None:
        """Read with the process's next request; the next ``read`` within ``PREFETCHED_S`` takes
        it."""
        self._prefetches.begin(_read(facts_keys(place, person)[0]))

    def drop_prefetched(self) -> None:
        """Have the next ``read`` ask again, after a deletion."""
        self._prefetches.clear()

    async def read(self, place: str, person: str) -> list[Fact]:
        """A person's facts in a place, oldest first."""
        key, _ = facts_keys(place, person)
        async with translate_errors():
            (stored,) = await self._prefetches.take(_read(key))
        if stored:  # reading them is their use
            self._client.execute_later(("EXPIRE", key, FACTS_S)).add_done_callback(ignore_failure)
        return _facts(stored)

    async def remember(self, place: str, person: str, text: str, idempotency_key: str) -> int:
        """Keep a fact, unless this text or a text with this idempotency key is kept already.

        Args:
            text: one line; ``FACT_CHARACTERS`` of it are kept.

        Returns:
            The fact's number; 0 where ``FACTS`` are kept already.
        """
        key, _ = facts_keys(place, person)
        digest = sha256(idempotency_key.encode()).hexdigest()[:16]
        self._prefetches.drop(_read(key))
        async with translate_errors():
            number = await self._client.eval(
                REMEMBER, 1, key, FACTS_S, FACTS, digest, text[:FACT_CHARACTERS]
            )
        return int(number)

    async def forget(self, place: str, person: str, number: int) -> bool:
        """Delete a fact; False where no fact has had this number."""
        keys = facts_keys(place, person)
        self._prefetches.drop(_read(keys[0]))
        async with translate_errors():
            return bool(await self._client.eval(FORGET, len(keys), *keys, number, INDEX_S))


def _read(key: str) -> Command:
    return "HGETALL", key


def _facts(stored: Mapping[bytes, bytes]) -> list[Fact]:
    facts = [
        Fact(int(field), value.partition(b" ")[2].decode())
        for field, value in stored.items()
        if field != b"last"
    ]
    return sorted(facts)
