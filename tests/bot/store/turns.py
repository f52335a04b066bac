"""Short cuts for tests that need a conversation in a certain state."""

from __future__ import annotations

from bot.store import JournalledTurn, Lease, Store
from bot.store.keys import Keys


async def leased(store: Store, conversation: str, ttl_ms: int = 6_000) -> Lease:
    """The lease, which is free."""
    lease = await store.leases.acquire(conversation, ttl_ms)
    assert lease is not None
    return lease


async def begun(store: Store, conversation: str) -> Lease:
    """The lease, under which a turn has begun that answers one message."""
    await store.inbox.accept(conversation, "m1", b"one")
    lease = await leased(store, conversation)
    await store.journal.begin(lease, "turn-1")
    return lease


async def turn_of(store: Store, lease: Lease, turn_id: str = "turn-1") -> JournalledTurn:
    """The turn that there is to begin, or to go on with."""
    turn = await store.journal.begin(lease, turn_id)
    assert turn is not None
    return turn


async def sending(store: Store, conversation: str, *deliveries: bytes) -> Lease:
    """The lease, under which these deliveries wait in the outbox."""
    lease = await leased(store, conversation)
    await store.journal.commit(lease, None, deliveries, keep_turns=1)
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
