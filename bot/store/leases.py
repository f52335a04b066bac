"""Leases: who may work on a conversation, and their renewal; the due index: when each conversation
is next to be processed; and the store's clock, on which processes on several machines agree."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex

import structlog

from bot.clock import now_ms
from bot.errors import LeaseLost, StoreUnavailable
from bot.store.clients import Scripts
from bot.store.keys import DUE_INDEXES, Keys, shard_of

log = structlog.stdlib.get_logger(__name__)

LEASE_MS = 6_000
POLL_S = 0.25  # while another process has the lease
RENEW_EVERY_S = 1.0  # a lease lives six times as long
FRESH_S = 2.0  # since its last renewal a lease needs no proof


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a conversation, until ``ttl_ms`` have passed without a renewal.

    Attributes:
        token: the fencing token: a random name of this lease, which every write under it carries.
    """

    conversation: str
    ttl_ms: int
    token: str = field(default_factory=partial(token_hex, 8))


class Leases:
    """Grants leases. A conversation is due at once when a message arrives, and when its lease
    expires.

    Args:
        priority: over connections of their own, so that busy turns lose no lease.
    """

    def __init__(self, scripts: Scripts, priority: Scripts) -> None:
        self._scripts = scripts
        self._priority = priority

    async def acquire(self, conversation: str, ttl_ms: int = LEASE_MS) -> Lease | None:
        """Take the lease; None where somebody holds it."""
        lease = Lease(conversation, ttl_ms)
        arguments = [conversation, lease.token, "take", ttl_ms, "", 0]
        return lease if await self._scripts.run("open", conversation, arguments) else None

    async def wait_for(self, conversation: str, wait_s: float) -> Lease | None:
        """Take the lease as soon as the process that has it gives it back; None where it keeps it
        longer."""
        for _ in range(round(wait_s / POLL_S)):
            if (lease := await self.acquire(conversation)) is not None:
                return lease
            await asyncio.sleep(POLL_S)
        return None

    async def renew(self, lease: Lease) -> None:
        """Keep the lease for another ``ttl_ms``.

        Raises:
            LeaseLost: it has expired.
        """
        if await self.renew_each([lease]):
            raise LeaseLost(lease.conversation)

    async def renew_each(self, leases: Sequence[Lease]) -> list[Lease]:
        """Renew leases of one shard in one request; returns those that have expired."""
        keys = [Keys(lease.conversation) for lease in leases]
        names = [keys[0].due, *(one.lease for one in keys)]
        values = [
            value for lease in leases for value in (lease.conversation, lease.token, lease.ttl_ms)
        ]
        lost = await self._priority.call("renew", names, values)
        return [leases[index] for index in lost]

    async def release(
        self,
        lease: Lease,
        retry_at_ms: int | None = None,
        known: int = 0,
        *,
        is_delivered: bool = False,
    ) -> bool:
        """Give the lease back. The conversation stays due while inbox, journal or outbox hold
        something.

        Args:
            retry_at_ms: when journal and outbox are due again, by the store's clock; without it,
                now. A message in the inbox is always due now.
            known: number of inbox entries left there on purpose until then.
            is_delivered: the outbox was empty as the time was chosen, so that a delivery in it is
                due now.

        Returns:
            Whether the inbox has more entries than ``known``, or such a delivery has come.

        Raises:
            LeaseLost: it has expired.
        """
        retry_at = "" if retry_at_ms is None else retry_at_ms
        outbox = "empty" if is_delivered else ""
        arguments = [lease.conversation, lease.token, retry_at, known, outbox]
        return bool(await self._scripts.run("release", lease.conversation, arguments))

    async def due(self, limit: int) -> list[str]:
        """The conversations that are due now, the longest due first."""
        return [conversation for _, conversation in await self._scripts.due(DUE_INDEXES, limit)]


@dataclass(slots=True, eq=False)
class _HeldLease:
    """A lease and the time limit of the work under it, which ends when the lease is lost."""

    lease: Lease
    limit: asyncio.Timeout
    renewed_at: float


class Renewals:
    """Renews all leases of this process together: one request a second for each shard."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
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
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._add(_HeldLease(lease, limit, since))
                try:
                    yield
                finally:
                    _ = self._held.pop(lease, None)
        except TimeoutError as error:
            if not limit.expired():
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
                # most turns end before their first renewal
                if time.monotonic() - held.renewed_at >= RENEW_EVERY_S:
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
                held.limit.reschedule(asyncio.get_running_loop().time())


READ_EVERY_S = 60.0


class StoreClock:
    """Estimates the store's clock from this process's; they are compared once a minute.

    Args:
        ask: reads the store's clock.
        local: milliseconds since the epoch by the process's own clock.

    Attributes:
        ahead_ms: of the store's clock; negative if it is slow.
    """

    def __init__(
        self, ask: Callable[[], Awaitable[int]], local: Callable[[], int] = now_ms
    ) -> None:
        self._ask = ask
        self._local = local
        self.ahead_ms = 0

    def __call__(self) -> int:
        """Milliseconds since the epoch."""
        return self._local() + self.ahead_ms

    async def read(self) -> None:
        """Compare the clocks; the store read its own in the middle between question and answer.

        Raises:
            StoreUnavailable: the estimate is as before.
        """
        asked = self._local()
        at = await self._ask()
        self.ahead_ms = at - (asked + self._local()) // 2

    async def follow(self, every_s: float = READ_EVERY_S) -> None:
        """Compare the clocks again and again; never returns."""
        while True:
            await asyncio.sleep(every_s)
            with suppress(StoreUnavailable):
                await self.read()
