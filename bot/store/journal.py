"""The journal: what a turn has taken in and done so far, so that another process can go on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bot.store.entries import Entry, pack, unpack
from bot.store.leases import Lease
from bot.store.scripts import Scripts


@dataclass(frozen=True, slots=True)
class JournalledTurn:
    """A turn as its journal tells it.

    Attributes:
        starts: how often it was begun and not given back since something was last recorded; 1 for a new turn.
        entries: oldest first; what came from the inbox keeps its kind.
        waiting: something is in the inbox.
        not_before: it has failed and rests until then, milliseconds of the store's clock; 0 where it does not.
    """

    turn_id: str
    starts: int
    entries: list[Entry]
    waiting: bool = False
    not_before: int = 0


class Failures(NamedTuple):
    """How often in a row a turn could not go on for one reason, and until when (ms of the store's clock) it rests."""

    times: int
    retry_at: int


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
        own_id, starts, frames, waiting, not_before = begun
        return JournalledTurn(own_id.decode(), starts, [unpack(frame) for frame in frames], bool(waiting), not_before)

    async def join(self, lease: Lease) -> list[bytes]:
        """Move what arrived meanwhile into the journal, up to the first ``ASIDE``, and return it.

        Not between a call and its result.
        """
        frames = await self._scripts.run("join", lease.conversation, lease.token)
        return [unpack(frame).body for frame in frames]

    async def record(self, lease: Lease, kind: str, entry: bytes) -> bool:
        """Append one step; ``kind`` is one word.

        Returns:
            Whether something waits in the inbox.
        """
        return bool(await self._scripts.run("record", lease.conversation, lease.token, pack(kind, "", entry)))

    async def fail(self, lease: Lease, reason: str, rest_ms: int) -> Failures:
        """Note that the turn could not go on.

        Args:
            rest_ms: how long it rests after the first failure for this reason; twice as long after each further one.
        """
        return Failures(*await self._scripts.run("fail", lease.conversation, lease.token, reason, rest_ms))

    async def commit(
        self,
        lease: Lease,
        history_entry: bytes | None,
        deliveries: Sequence[bytes],
        keep_turns: int,
        given_up: str = "",
    ) -> None:
        """End the turn: its entry goes to the history, its deliveries to the outbox, its journal goes.

        Args:
            keep_turns: the newest turns the history keeps, at least 1.
            given_up: why the turn has no answer; what it had taken in goes to the dead letters.
        """
        await self._scripts.run(
            "commit", lease.conversation, lease.token, keep_turns, history_entry or b"", given_up, *deliveries
        )
