"""Small values with a lifetime, shared by all processes, such as cached display names and notices
already sent."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from bot.store.clients import Client, translate_errors
from bot.store.keys import kv_key
from bot.store.queues import Prefetches, ignore_failure

# allow-oom: a full store accepts no new messages, but turns under way must finish, and they set
# values too.
SET = """#!lua flags=allow-oom
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[1])
"""
SET_IF_ABSENT = """#!lua flags=allow-oom
return redis.call('SET', KEYS[1], '', 'NX', 'EX', ARGV[1])
"""
CLAIM = """#!lua flags=allow-oom
return redis.call('SET', KEYS[1], ARGV[2], 'NX', 'EX', ARGV[1])
    or redis.call('GET', KEYS[1]) == ARGV[2]
"""
INCR = """#!lua flags=allow-oom
local counted = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[1])
return counted
"""
ADD = """#!lua flags=allow-oom
redis.call('SADD', KEYS[1], ARGV[2])
if redis.call('EXPIRE', KEYS[1], ARGV[1], 'NX') == 0 then
    redis.call('EXPIRE', KEYS[1], ARGV[1], 'GT')
end
"""


class KeyValue:
    """Values by name. Losing one costs a look-up, never a message."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._prefetches = Prefetches(client.execute_later, client.execute_soon)

    def prefetch(self, name: str) -> None:
        """Read a value with the process's next request; the next ``get`` within ``PREFETCHED_S``
        takes it."""
        self._prefetches.begin(("GET", kv_key(name)))

    async def get(self, name: str) -> bytes | None:
        """The value; None where there is none or it has expired."""
        async with translate_errors():
            (value,) = await self._prefetches.take(("GET", kv_key(name)))
        return cast("bytes | None", value)

    async def set(self, name: str, value: bytes, ttl_s: int) -> None:
        """Set a value for ``ttl_s`` seconds."""
        self._prefetches.drop(("GET", kv_key(name)))
        async with translate_errors():
            await self._client.eval(SET, 1, kv_key(name), ttl_s, value)

    def set_later(self, name: str, value: bytes, ttl_s: int) -> None:
        """Set a value with the process's next request. A failure is not reported."""
        self._prefetches.drop(("GET", kv_key(name)))
        self._client.execute_later(("EVAL", SET, 1, kv_key(name), ttl_s, value)).add_done_callback(
            ignore_failure
        )

    async def set_if_absent(self, name: str, ttl_s: int) -> bool:
        """Set an empty value unless there is one; whether it was set."""
        async with translate_errors():
            return bool(await self._client.eval(SET_IF_ABSENT, 1, kv_key(name), ttl_s))

    async def claim(self, name: str, holder: str, ttl_s: int) -> bool:
        """Set a value to its holder unless there is one; whether it is this holder's, also from an
        earlier attempt."""
        async with translate_errors():
            return bool(await self._client.eval(CLAIM, 1, kv_key(name), ttl_s, holder))

    async def incr(self, name: str, ttl_s: int) -> int:
        """Increase a counter and return it; it expires ``ttl_s`` seconds after the last
        increase."""
        async with translate_errors():
            return int(await self._client.eval(INCR, 1, kv_key(name), ttl_s))

    async def add(self, name: str, member: str, ttl_s: int) -> None:
        """Add a member to a set, which lives for ``ttl_s`` seconds from now, or longer if that was
        said before."""
        async with translate_errors():
            await self._client.eval(ADD, 1, kv_key(name), ttl_s, member)

    def add_later(self, name: str, member: str, ttl_s: int) -> asyncio.Future[list[Any]]:
        """The same with the process's next request; done, or failed, when that is answered."""
        adding = self._client.execute_later(("EVAL", ADD, 1, kv_key(name), ttl_s, member))
        adding.add_done_callback(ignore_failure)
        return adding

    async def members(self, name: str) -> list[str]:
        """The members of a set, sorted."""
        async with translate_errors():
            members = cast(set[bytes], await self._client.smembers(kv_key(name)))
        return sorted(member.decode() for member in members)

    async def delete(self, name: str) -> None:
        self._prefetches.drop(("GET", kv_key(name)))
        async with translate_errors():
            await self._client.delete(kv_key(name))
