"""Leases are renewed while work goes on under them."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import structlog

from bot.errors import LeaseLost, StoreUnavailable
from bot.store import Lease, Store, shard_of

log = structlog.stdlib.get_logger(__name__)

RENEW_EVERY_S = 1.0  # a lease lives six times as long
FRESH_S = 2.0  # since its last renewal a lease needs no proof


@dataclass(slots=True, eq=False)
class _HeldLease:
    """A lease and the time limit of the work under it, which ends when the lease is lost."""

    lease: Lease
    limit: asyncio.Timeout
    renewed_at: float
    is_lost: bool = False


class Renewals:
    """Renews all leases of this process together: one request a second for each shard."""

    def __init__(self, store: Store) -> None:
        self._leases = store.leases
        self._held: dict[Lease, _HeldLease] = {}
        self._renewing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def hold(self, lease: Lease, since: float) -> AsyncIterator[None]:
        """Renew a lease while the work inside runs.

        Args:
            since: ``time.monotonic()`` before the lease was asked for.

        Raises:
            LeaseLost: inside; the work ends with it.
        """
        held = None
        try:
            async with asyncio.timeout(None) as limit:
                self._add(held := _HeldLease(lease, limit, since))
                try:
                    yield
                finally:
                    _ = self._held.pop(lease, None)
        except TimeoutError as error:
            if held is None or not held.is_lost:
                raise
            raise LeaseLost(lease.conversation) from error

    @contextmanager
    def pause(self, lease: Lease) -> Iterator[None]:
        """Do not renew a lease during a request that may release it: the renewal would report it as
        lost."""
        held = self._held.pop(lease, None)
        try:
            yield
        finally:
            if held is not None:
                self._add(held)

    async def assert_held(self, lease: Lease) -> None:
        """Check that a lease is held; the store is asked if that has not happened for ``FRESH_S``.

        Raises:
            LeaseLost: it has expired.
        """
        held = self._held.get(lease)
        now = time.monotonic()
        if held is not None and now - held.renewed_at < FRESH_S:
            return
        await self._leases.renew(lease)
        if held is not None:
            held.renewed_at = now

    def _add(self, held: _HeldLease) -> None:
        self._held[held.lease] = held
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        while self._held:
            await asyncio.sleep(RENEW_EVERY_S)
            shards: defaultdict[int, list[_HeldLease]] = defaultdict(list)
            for held in self._held.values():
                if (
                    time.monotonic() - held.renewed_at >= RENEW_EVERY_S
                ):  # most turns end before their first renewal
                    shards[shard_of(held.lease.conversation)].append(held)
            # At once: shard after shard would take a busy loop longer than a lease lives.
            await asyncio.gather(*map(self._renew_shard, shards.values()))

    async def _renew_shard(self, shard: list[_HeldLease]) -> None:
        """Renew leases of one shard. While the store is away their turns go on: every write is
        fenced."""
        now = time.monotonic()
        try:
            lost = set(await self._leases.renew_each([held.lease for held in shard]))
        except StoreUnavailable as error:
            log.warning("lease.not_renewed", count=len(shard), cause=str(error))
            return
        for held in shard:
            if held.lease not in lost:
                held.renewed_at = now
            elif self._held.pop(held.lease, None) is not None:
                held.is_lost = True
                held.limit.reschedule(asyncio.get_running_loop().time())
