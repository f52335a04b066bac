"""The journal: what a turn has taken in and done so far, so that another process can go on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.store.entries import Entry, pack, unpack
from bot.store.leases import Lease
from bot.store.scripts import Scripts


@dataclass(frozen=True, slots=True)
class JournalledTurn:
    """A turn as its journal tells it.

    Attributes:
        starts: how often it was begun since something was last recorded; 1 for a new turn.
        entries: oldest first; messages have the kind ``arrival``.
    """

    turn_id: str
    starts: int
    entries: list[Entry]


class Journal:
    """Turns under way. All methods are fenced: they raise ``LeaseLost`` where the lease is no longer held."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def begin(self, lease: Lease, turn_id: str) -> JournalledTurn | None:
        """Go on with the turn that was left, else open one with all messages that wait; None where none do.

        A turn that was left keeps its own id and takes nothing in here: between a call and its result there is no
        place for a message.
        """
        begun = await self._scripts.run("begin", lease.conversation, lease.token, turn_id)
        if begun is None:
            return None
        own_id, starts, frames = begun
        return JournalledTurn(own_id.decode(), starts, [unpack(frame) for frame in frames])

    async def join(self, lease: Lease) -> list[bytes]:
        """Move the messages that arrived meanwhile into the journal, and return them."""
        frames = await self._scripts.run("join", lease.conversation, lease.token)
        return [unpack(frame).body for frame in frames]

    async def record(self, lease: Lease, kind: str, entry: bytes) -> None:
        """Append one step; ``kind`` is one word."""
        await self._scripts.run("record", lease.conversation, lease.token, pack(kind, "", entry))

    async def commit(
        self, lease: Lease, history_entry: bytes | None, deliveries: Sequence[bytes], keep_turns: int
    ) -> None:
        """End the turn: its entry goes to the history, its deliveries to the outbox, its journal goes.

        Args:
            keep_turns: the newest turns the history keeps, at least 1.
        """
        await self._scripts.run(
            "commit", lease.conversation, lease.token, keep_turns, history_entry or b"", *deliveries
        )
