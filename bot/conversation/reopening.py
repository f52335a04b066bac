"""Answers that came a moment too early: their questions were changed before the answers had arrived as a whole.

The turn that was committed last goes on from its journal, which is kept while its answer is delivered and a moment
longer. What the outbox and the late answers still hold of it is not sent, and what a channel can delete is deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import structlog
from msgspec import Struct
from msgspec.json import Decoder

from bot.channels import Channel, InboundEvent
from bot.conversation.inbound import MOST_CHANGES
from bot.conversation.journal import TurnJournal, read_entries
from bot.conversation.triage import CONVERSATION_DELETED
from bot.conversation.undelivered import Undelivered, read_undelivered, taking_back
from bot.store import Lease, Store
from bot.transcript import UNREADABLE, encode, new_id

log = structlog.stdlib.get_logger(__name__)


class AnsweredTurn(Struct, frozen=True):
    """A committed turn, as far as its journal does not tell; ``deliveries`` is their number."""

    turn_id: str
    deliveries: int


_decode = Decoder(AnsweredTurn).decode


class Reopening:
    """Reopens the turn that was committed last."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def reopen(self, lease: Lease, channel: Channel, events: Sequence[InboundEvent]) -> bool:
        """Reopen a turn whose messages are changed by these events, with which a turn has begun.

        Returns:
            Whether it goes on; then the events are in the inbox again.

        Raises:
            LeaseLost: nothing was done.
        """
        unsent = {event.target for event in events if event.event == "unsent"}
        changed = unsent | {event.target for event in events if event.is_change}
        if not changed or any(event.event == CONVERSATION_DELETED for event in events):
            return False
        waiting = await read_undelivered(self._store, lease.conversation)
        return await self._reopen_answered(lease, channel, waiting, changed, unsent)

    async def _reopen_answered(
        self,
        lease: Lease,
        channel: Channel,
        waiting: Sequence[Undelivered],
        changed: Collection[str],
        unsent: Collection[str],
    ) -> bool:
        kept = await self._store.journal.read_answered(lease.conversation)
        if kept is None:
            return False
        try:
            turn, journal = _decode(kept[0]), read_entries(kept[1])
        except UNREADABLE:
            log.error("journal.unreadable")
            return False
        counts = changed if len(journal.changes) < MOST_CHANGES else unsent
        concerned = any(event.message.id in counts for event in journal.all_events)
        void = [one.raw for one in waiting if one.delivery.turn_id == turn.turn_id and one.delivery.answers]
        if not concerned or not (void or channel.takes_back):
            return False
        sends = b""
        if channel.takes_back:
            sends = encode(taking_back(turn.turn_id, last_address(journal), turn.deliveries))
        if not await self._store.journal.reopen(lease, turn.turn_id, new_id("turn"), void, sends):
            return False
        log.info("turn.reopened", answered=turn.turn_id)
        return True


def last_address(journal: TurnJournal) -> str:
    """Where the newest of a turn's messages was to be answered."""
    return next((event.address for event in reversed(journal.all_events) if event.address), "")
