"""Small values with a lifetime, shared by all processes, such as cached display names and notices
already sent."""

from __future__ import annotations

from typing import cast

from bot.store.belongings import Belongings
from bot.store.clients import Client, ask, translate_errors
from bot.store.keys import kv_key
from bot.store.queues import Prefetches, Read, ignore_failure
from bot.store.scripts import Scripts


class KeyValue:
    """Values by name. Losing one costs a look-up, never a message."""

    def __init__(
        self, client: Client, scripts: Scripts, belongings: Belongings, prefetches: Prefetches
    ) -> None:
        self._client = client
        self._scripts = scripts
        self._belongings = belongings
        self._prefetches = prefetches

    def prefetch(self, name: str) -> None:
        """Read a value with the process's next request; the next ``get`` within ``PREFETCHED_S``
        takes it."""
        self._prefetches.begin(_read(name))

    async def get(self, name: str) -> bytes | None:
        """The value; None where there is none or it has expired."""
        async with translate_errors():
            (value,) = await self._prefetches.take(_read(name))
        return cast("bytes | None", value)

    async def set(self, name: str, value: bytes, ttl_s: int, person: str = "") -> None:
        """Set a value for ``ttl_s`` seconds.

        Args:
            person: channel and id of somebody with whom it is forgotten, where its name does not
                say so (``keys.PERSON_VALUES``).
        """
        if person:
            await self._belongings.add(person, f"value {name}", ttl_s)
        self._prefetches.drop(_read(name))
        await self._scripts.transact([("SET", kv_key(name), value, "EX", ttl_s)])

    def set_later(self, name: str, value: bytes, ttl_s: int, person: str = "") -> None:
        """The same with the process's next request. A failure is not reported."""
        if person:
            _ = self._belongings.add_later(person, [f"value {name}"], ttl_s)
        self._prefetches.drop(_read(name))
        setting = self._scripts.transaction([("SET", kv_key(name), value, "EX", ttl_s)])
        self._client.submit_later([setting]).add_done_callback(ignore_failure)

    async def set_if_absent(self, name: str, ttl_s: int) -> bool:
        """Set an empty value unless there is one; whether it was set."""
        [done] = await self._scripts.transact_and_read(
            [("SET", kv_key(name), "", "NX", "EX", ttl_s)]
        )
        return done is not None

    async def claim(self, name: str, holder: str, ttl_s: int) -> bool:
        """Set a value to its holder unless there is one; whether it is this holder's, also from an
        earlier attempt."""
        key = kv_key(name)
        setting = ("SET", key, holder, "NX", "EX", ttl_s)
        _, found = await self._scripts.transact_and_read([setting, ("GET", key)])
        return bool(found == holder.encode())

    async def incr(self, name: str, ttl_s: int) -> int:
        """Increase a counter and return it; it expires ``ttl_s`` seconds after the last
        increase."""
        key = kv_key(name)
        counted, _ = await self._scripts.transact_and_read([("INCR", key), ("EXPIRE", key, ttl_s)])
        return int(counted)

    async def delete(self, name: str) -> None:
        self._prefetches.drop(_read(name))
        await ask(self._client, "DEL", kv_key(name))


def _read(name: str) -> Read:
    return (("GET", kv_key(name)),)
