"""Lists that the people of a place share: one hash for each place, from an item's number to its
value."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from msgspec.json import Decoder, Encoder

from bot.store.clients import Client, translate_errors
from bot.store.keys import LIST_ITEMS, LISTS_S, lists_key

# Reading lists is their use.
READ = """#!lua flags=allow-oom
redis.call('EXPIRE', KEYS[1], ARGV[1])
return redis.call('HGETALL', KEYS[1])
"""
# A value is ``digest mark author JSON``: of the idempotency key, 1 if it is ticked, of who added
# it, list and text. The field ``last`` holds the newest number. A new item takes the room of the
# oldest ticked one. A full store takes none.
ADD = """#!lua
local lists, most = KEYS[1], tonumber(ARGV[2])
local stored = redis.call('HGETALL', lists)
local count, known, ticked, numbers = 0, {}, {}, {}
for index = 1, #stored, 2 do
    if stored[index] ~= 'last' then
        count = count + 1
        known[string.sub(stored[index + 1], 1, 16)] = tonumber(stored[index])
        if string.sub(stored[index + 1], 18, 18) == '1' then
            table.insert(ticked, tonumber(stored[index]))
        end
    end
end
table.sort(ticked)
for index = 3, #ARGV, 2 do
    local number = known[ARGV[index]] or 0
    if number == 0 and count >= most and #ticked > 0 then
        redis.call('HDEL', lists, table.remove(ticked, 1))
        count = count - 1
    end
    if number == 0 and count < most then
        number = redis.call('HINCRBY', lists, 'last', 1)
        redis.call('HSET', lists, number, ARGV[index] .. ' 0 ' .. ARGV[index + 1])
        count = count + 1
    end
    table.insert(numbers, number)
end
redis.call('EXPIRE', lists, ARGV[1])
return numbers
"""

TICK = """#!lua flags=allow-oom
local lists, found = KEYS[1], {}
for index = 3, #ARGV do
    local value = redis.call('HGET', lists, ARGV[index])
    if value then
        value = string.sub(value, 1, 17) .. ARGV[2] .. string.sub(value, 19)
        redis.call('HSET', lists, ARGV[index], value)
        table.insert(found, tonumber(ARGV[index]))
    end
end
redis.call('EXPIRE', lists, ARGV[1])
return found
"""

encode = Encoder().encode
decode = Decoder(tuple[str, str]).decode


class StoredItem(NamedTuple):
    """One item; its number is its own among all lists of the place."""

    number: int
    list_name: str
    text: str
    is_ticked: bool


class PlaceLists:
    """Lists by place. They expire ``LISTS_S`` after they were last read or changed."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self, place: str) -> list[StoredItem]:
        """All items of a place, oldest first."""
        async with translate_errors():
            stored = await self._client.eval(READ, 1, lists_key(place), LISTS_S)
        fields = zip(stored[::2], stored[1::2], strict=True)
        return sorted(_item(int(field), value) for field, value in fields if field != b"last")

    async def add(
        self, place: str, author: str, list_name: str, texts: Sequence[str], idempotency_key: str
    ) -> list[int]:
        """Add items, each once for its position and idempotency key.

        Returns:
            Their numbers; 0 for an item without room among ``LIST_ITEMS``.
        """
        by = digest_of(author).encode()
        items = [
            argument
            for position, text in enumerate(texts)
            for argument in (
                digest_of(f"{idempotency_key}:{position}"),
                b"%b %b" % (by, encode((list_name, text))),
            )
        ]
        async with translate_errors():
            numbers = await self._client.eval(ADD, 1, lists_key(place), LISTS_S, LIST_ITEMS, *items)
        return [int(number) for number in numbers]

    async def tick(self, place: str, numbers: Sequence[int], *, done: bool) -> list[int]:
        """Mark items as done, or as open again; returns the numbers that there are."""
        async with translate_errors():
            found = await self._client.eval(TICK, 1, lists_key(place), LISTS_S, int(done), *numbers)
        return [int(number) for number in found]


def _item(number: int, value: bytes) -> StoredItem:
    _, mark, _, content = value.split(b" ", 3)
    list_name, text = decode(content)
    return StoredItem(number, list_name, text, mark == b"1")


def digest_of(text: str) -> str:
    """How a value names an idempotency key, and who added the item: ``/forget me`` finds it by
    that."""
    return sha256(text.encode()).hexdigest()[:16]
