"""How long the conversations of a killed process wait until another one goes on with them."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field

from redis.asyncio import Redis
from redis.exceptions import RedisError

POLL_S = 0.02
NEARLY_OVER_MS = 300  # a lease that vanishes earlier was given back
LONGEST_S = 20.0


@dataclass(slots=True)
class Lease:
    """A lease that somebody held at a kill: the dead do not renew theirs."""

    token: object
    ttl_ms: int
    expired: bool = False


@dataclass(slots=True)
class TakeOvers:
    """Watches leases.

    Attributes:
        waits: seconds from a kill to the next lease of each conversation the killed process had.
    """

    redis: Redis
    waits: list[float] = field(default_factory=list)
    _watched: dict[bytes, Lease] = field(default_factory=dict)

    async def watch(self) -> None:
        """Begin right after a kill; returns when every conversation of the dead is in other
        hands."""
        begun = time.monotonic()
        leases = await self._held()
        self._watched |= leases
        while leases and time.monotonic() - begun < LONGEST_S:
            with suppress(RedisError, OSError):  # the store is killed too
                for name, lease in list(leases.items()):
                    if await self._is_settled(name, lease, begun):
                        del leases[name], self._watched[name]
            await asyncio.sleep(POLL_S)
        self.waits += [LONGEST_S] * sum(lease.expired for lease in leases.values())

    async def _held(self) -> dict[bytes, Lease]:
        held: dict[bytes, Lease] = {}
        with suppress(RedisError, OSError):
            async for name in self.redis.scan_iter("kaiwa:*:lease:*", count=1000):
                token = await self.redis.get(name)
                if token and name not in self._watched:  # else orphaned by an earlier kill
                    held[name] = Lease(token, await self.redis.pttl(name))
        return held

    async def _is_settled(self, name: bytes, lease: Lease, begun: float) -> bool:
        """Whether the lease has turned out to be a living holder's, or has a new holder."""
        async with self.redis.pipeline(transaction=False) as pipe:
            _ = pipe.get(name)
            _ = pipe.pttl(name)
            token, ttl_ms = await pipe.execute()
        if token == lease.token:
            is_renewed: bool = ttl_ms > lease.ttl_ms
            lease.ttl_ms = ttl_ms
            return is_renewed
        lease.expired = lease.expired or lease.ttl_ms < NEARLY_OVER_MS
        if token and lease.expired:
            self.waits.append(time.monotonic() - begun)
        return bool(token) or not lease.expired
