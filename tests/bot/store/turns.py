"""Short cuts for tests that need a conversation in a certain state."""

from __future__ import annotations

from bot.store import Lease, Store
from bot.store.keys import Keys


async def leased(store: Store, conversation: str, ttl_ms: int = 6_000) -> Lease:
    """The lease, which is free."""
    lease = await store.leases.acquire(conversation, ttl_ms)
    assert lease is not None
    return lease


async def arrivals(store: Store, conversation: str) -> list[bytes]:
    """Take all waiting messages through an empty turn."""
    lease = await leased(store, conversation)
    turn = await store.journal.begin(lease, "turn")
    await store.journal.commit(lease, None, [], keep_turns=1)
    await store.leases.release(lease)
    return [entry.body for entry in turn.entries] if turn else []


async def join(store: Store, lease: Lease) -> list[bytes]:
    """Let all that waits join the turn."""
    waiting = await store.inbox.read(lease.conversation)
    await store.journal.join(lease, [entry.frame for entry in waiting])
    return [entry.body for entry in waiting]


def key(kind: str, conversation: str) -> str:
    """The name of one of a conversation's keys."""
    return Keys(conversation).of(kind)
