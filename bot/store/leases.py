"""Leases: who may work on a conversation, and the due index: when each conversation is next to be
processed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from secrets import token_hex

from bot.errors import LeaseLost
from bot.store.clients import Client, translate_errors
from bot.store.keys import INDEX_S, Keys, due_indexes
from bot.store.scripts import Scripts

LEASE_MS = 6_000

# Each node of a cluster has its own clock; a shard uses that of its node.
DUE_NOW = """#!lua flags=no-writes
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1], 'WITHSCORES')
"""

# Renews many leases of one shard; returns the indexes of those that are lost.
RENEW_EACH = f"""#!lua flags=allow-oom
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lost = {{}}
for i = 1, #ARGV, 3 do
    local lease = KEYS[(i - 1) / 3 + 2]
    local conversation, token, ttl = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    if redis.call('GET', lease) ~= token then
        table.insert(lost, (i - 1) / 3)
    else
        redis.call('PEXPIRE', lease, ttl)
        redis.call('ZADD', KEYS[1], now + ttl, conversation)
    end
end
redis.call('EXPIRE', KEYS[1], {INDEX_S})
return lost
"""


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
        priority: has its own connections, so that busy turns lose no lease.
    """

    def __init__(self, client: Client, priority: Client, scripts: Scripts) -> None:
        self._client = client
        self._priority = priority
        self._scripts = scripts

    async def acquire(self, conversation: str, ttl_ms: int = LEASE_MS) -> Lease | None:
        """Take the lease; None where somebody holds it."""
        lease = Lease(conversation, new_token(), ttl_ms)
        return (
            lease if await self._scripts.run("acquire", conversation, lease.token, ttl_ms) else None
        )

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
        async with translate_errors():
            lost = await self._priority.eval(RENEW_EACH, len(names), *names, *values)
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
            now. A message in the
                inbox is always due now.
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
        return bool(
            await self._scripts.run(
                "release", lease.conversation, lease.token, retry_at, known, outbox
            )
        )

    async def forget(self, lease: Lease) -> None:
        """Mark that something was deleted: when the lease is released with no work left, the
        append-only file is due for a rewrite.

        Raises:
            LeaseLost: nothing was marked.
        """
        await self._scripts.run("forget", lease.conversation, lease.token)

    async def due(self, limit: int) -> list[str]:
        """The conversations that are due now, the longest due first."""
        return [
            conversation for _, conversation in await read_due(self._client, due_indexes(), limit)
        ]


async def read_due(client: Client, indexes: Iterable[str], limit: int) -> list[tuple[int, str]]:
    """The members of indexes whose time (ms of the store's clock) has come, each with its time; the
    oldest first."""
    async with translate_errors():
        shards = await client.execute_each(("EVAL", DUE_NOW, 1, index, limit) for index in indexes)
    pairs = (pair for shard in shards for pair in zip(shard[1::2], shard[::2], strict=True))
    return sorted((int(float(at)), member.decode()) for at, member in pairs)[:limit]
