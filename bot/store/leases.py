"""Leases: who may work on a conversation, and the due index: when each conversation is next to be
processed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex

from bot.errors import LeaseLost
from bot.store.keys import Keys, due_indexes
from bot.store.scripts import Scripts

LEASE_MS = 6_000


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a conversation, until ``ttl_ms`` have passed without a renewal.

    Attributes:
        token: the fencing token: a random name of this lease, which every write under it carries.
    """

    conversation: str
    token: str
    ttl_ms: int


def new_token() -> str:
    """The fencing token of a new lease."""
    return token_hex(8)


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
        lease = Lease(conversation, new_token(), ttl_ms)
        arguments = [conversation, lease.token, "take", ttl_ms, "", 0]
        return lease if await self._scripts.run("open", conversation, arguments) else None

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
        return [conversation for _, conversation in await self._scripts.due(due_indexes(), limit)]
