"""All that a store holds, as a file: written by one version, read by those after it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.json import Decoder, encode, format
from redis.asyncio import Redis


class StoredKey(Struct, frozen=True, omit_defaults=True):
    """A key with all that it holds.

    Attributes:
        items: the bytes of a string, a list's, a hash's fields each before its value, those of a
            sorted set each before its score, those of a stream each with its id and fields.
        ttl_ms: 0 for a key that never expires.
    """

    name: str
    type: str
    items: tuple[bytes, ...]
    ttl_ms: int = 0


async def read_state(redis: Redis) -> list[StoredKey]:
    """All keys, by name; what locks a conversation is left out, as it has ended by then."""
    names = sorted([name.decode() async for name in redis.scan_iter(count=1_000)])
    return [await _read_key(redis, name) for name in names if ":lease:" not in name]


async def write_state(redis: Redis, state: list[StoredKey]) -> None:
    """Store keys again."""
    for key in state:
        pairs = list(zip(key.items[::2], key.items[1::2], strict=False))
        match key.type:
            case "string":
                await redis.set(key.name, key.items[0])
            case "list":
                await redis.rpush(key.name, *key.items)
            case "hash":
                await redis.hset(key.name, mapping=dict(pairs))
            case "zset":
                await redis.zadd(key.name, {member: float(score) for member, score in pairs})
            case _:
                raise ValueError(f"{key.name} is a {key.type}, which no file holds yet")
        if key.ttl_ms:
            await redis.pexpire(key.name, key.ttl_ms)


def to_json(state: list[StoredKey]) -> bytes:
    """The keys as a file holds them, bytes in base64."""
    return format(encode(state), indent=1) + b"\n"


from_json = Decoder(list[StoredKey]).decode


async def _read_key(redis: Redis, name: str) -> StoredKey:
    kind: Any = await redis.type(name)
    items: list[Any] = []
    match kind.decode():
        case "string":
            items = [await redis.get(name)]
        case "list":
            items = await redis.lrange(name, 0, -1)
        case "hash":
            for pair in sorted((await redis.hgetall(name)).items()):
                items += pair
        case "zset":
            scored: Any = await redis.zrange(name, 0, -1, withscores=True)
            for member, score in scored:
                items += member, repr(score).encode()
    return StoredKey(name, kind.decode(), tuple(items), max(await redis.pttl(name), 0))
