"""The leases this process holds, kept together: one request a second for all of a shard's, whatever turns do."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import structlog

from bot.errors import LeaseLost, StoreUnavailable
from bot.store import Lease, Store, shard_of

log = structlog.stdlib.get_logger(__name__)

EVERY_S = 1.0  # a lease lives six times as long
LOOK_S = 0.25  # between two looks at a lease that another process holds
YOUNG_S = 1.0  # most turns end before their lease has to be renewed


@dataclass(slots=True, eq=False)
class _Held:
    """A lease, the limit that ends the work under it, and when it was renewed last."""

    lease: Lease
    limit: asyncio.Timeout
    at: float = field(default_factory=time.monotonic)
    is_lost: bool = False


class Renewals:
    """Renews leases for as long as work goes on under them."""

    def __init__(self, store: Store) -> None:
        self._leases = store.leases
        self._held: set[_Held] = set()
        self._renewing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def kept(self, lease: Lease) -> AsyncIterator[None]:
        """Renew the lease while the work inside runs.

        Raises:
            LeaseLost: inside; the work ends with it.
        """
        held = None
        try:
            async with asyncio.timeout(None) as limit:
                held = _Held(lease, limit)
                self._held.add(held)
                if self._renewing is None or self._renewing.done():
                    self._renewing = asyncio.create_task(self._renew())
                try:
                    yield
                finally:
                    self._held.discard(held)
        except TimeoutError as error:
            if held is None or not held.is_lost:
                raise
            raise LeaseLost(lease.conversation) from error

    async def _renew(self) -> None:
        while self._held:
            await asyncio.sleep(EVERY_S)
            shards: defaultdict[int, list[_Held]] = defaultdict(list)
            for held in self._held:
                if time.monotonic() - held.at >= YOUNG_S:
                    shards[shard_of(held.lease.conversation)].append(held)
            # At once: shard after shard would take a busy loop longer than a lease lives.
            await asyncio.gather(*map(self._renew_each, shards.values()))

    async def _renew_each(self, shard: list[_Held]) -> None:
        """Where the store is away, what runs goes on: whatever it writes is fenced."""
        now = time.monotonic()
        try:
            lost = await self._leases.renew_each([held.lease for held in shard])
        except StoreUnavailable as error:
            log.warning("lease.not_renewed", count=len(shard), cause=str(error))
            return
        for held in shard:
            held.at = now
            if held.lease in lost and held in self._held:
                self._held.discard(held)
                held.is_lost = True
                held.limit.reschedule(asyncio.get_running_loop().time())


async def acquire_patiently(store: Store, conversation: str, rounds: int) -> Lease | None:
    """The lease of a conversation, once a turn under way there has ended or its process's lease is over."""
    for _ in range(rounds):
        if (lease := await store.leases.acquire(conversation)) is not None:
            return lease
        await asyncio.sleep(LOOK_S)
    return None
