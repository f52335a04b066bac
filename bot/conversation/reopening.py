"""Answers that came a moment too early: their questions were changed before the answers had arrived
as a whole.

The turn that was committed last goes on from its journal, which is kept while its answer is
delivered and a moment longer. An older turn goes on from its entry in the history, if an edited
question's answer still waits. What the outbox and the late answers hold of it is not sent, and what
a channel can delete is deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import structlog
from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.agent.turn import RecordedResponse
from bot.channels import Channel, Delivery, InboundEvent
from bot.conversation.history import KEEP_TURNS, read_turns
from bot.conversation.inbound import MOST_CHANGES
from bot.conversation.journal import RESPONSE, RESULT, TurnJournal, read_entries, readable_events
from bot.conversation.services import Services
from bot.conversation.triage import CONVERSATION_DELETED, parse
from bot.conversation.undelivered import Undelivered, is_reopened_by, read_undelivered, taking_back
from bot.store import ARRIVAL, CHANGE, Lease
from bot.store.frames import Entry
from bot.transcript import UNREADABLE, TurnRecord, encode, new_id

log = structlog.stdlib.get_logger(__name__)

NO_TURN = TurnRecord("", 0, "", ())


class AnsweredTurn(Struct, frozen=True):
    """A committed turn, as far as its journal does not tell; ``deliveries`` is their number."""

    turn_id: str
    deliveries: int


_decode = Decoder(AnsweredTurn).decode


class Reopening:
    """Reopens committed turns, one at a time."""

    def __init__(self, services: Services) -> None:
        self._store = services.store
        self._commands = services.commands

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
        if await self._reopen_answered(lease, channel, waiting, changed, unsent):
            return True
        edits = [
            event for event in events if event.event == "edited" and event.target not in unsent
        ]
        return bool(edits) and await self._reopen_older(lease, channel, waiting, edits)

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
        void = [
            one.raw
            for one in waiting
            if one.delivery.turn_id == turn.turn_id and one.delivery.answers
        ]
        if not concerned or not (void or channel.takes_back):
            return False
        sends = b""
        if channel.takes_back:
            sends = encode(taking_back(turn.turn_id, last_address(journal), turn.deliveries))
        if not await self._store.journal.reopen(lease, turn.turn_id, new_id("turn"), void, sends):
            return False
        log.info("turn.reopened", answered=turn.turn_id)
        return True

    async def _reopen_older(
        self,
        lease: Lease,
        channel: Channel,
        waiting: Sequence[Undelivered],
        edits: Sequence[InboundEvent],
    ) -> bool:
        """Reopen the oldest turn whose answer waits and whose question is edited; the other edits
        wait for its end."""
        edited = {event.target for event in edits}
        answer = next(
            (one.delivery for one in waiting if is_reopened_by(one.delivery, edited)), None
        )
        if answer is None:
            return False
        turns = read_turns(await self._store.history.recall(lease.conversation, KEEP_TURNS))
        all_turns = (*turns.summarised, *turns.since)
        entry, record = next(
            (turn for turn in all_turns if turn[1].turn_id == answer.turn_id), (b"", NO_TURN)
        )
        journal = _journal_of(record, answer, group=edits[0].group)
        # The history does not tell a command from a pressed choice, or from an edited text that
        # reads like one.
        if not journal or any(
            parse(event, self._commands).command for event in readable_events(journal)
        ):
            return False
        void = [
            one.raw
            for one in waiting
            if one.delivery.turn_id == answer.turn_id and one.delivery.answers
        ]
        sends = encode(taking_back(answer.turn_id, answer.address)) if channel.takes_back else b""
        is_old = any(entry == summarised for summarised, _ in turns.summarised)
        how = new_id("turn"), entry, journal, void, sends
        if not await self._store.journal.reopen_older(lease, *how, is_summarised=is_old):
            return False
        log.info("turn.reopened", answered=answer.turn_id)
        return True


def _journal_of(record: TurnRecord, answer: Delivery, *, group: bool) -> list[Entry]:
    """The journal of a turn, made of its entry in the history, without its answer.

    The changes that it has seen are no news, but count on.
    """
    journal = []
    for message in record.messages:
        if message.role == "user":
            journal.append(Entry(ARRIVAL, encode(InboundEvent(message, answer.address, group))))
        elif message.role == "tool":
            journal += [Entry(RESULT, encode(result)) for result in message.results]
        elif message.calls:
            journal.append(Entry(RESPONSE, encode(RecordedResponse(message, "tool_use"))))
    first = next((message for message in record.messages if message.role == "user"), None)
    if first:
        own = tuple(part for part in first.parts if part not in first.quoted_pictures)
        seen = [
            replace(first, id=change_id, parts=own, quotes=()) for change_id in answer.changes or ()
        ]
        events = [
            InboundEvent(change, group=group, event="edited", target=first.id) for change in seen
        ]
        journal[1:1] = [Entry(CHANGE, encode(event)) for event in events]
    return journal


def last_address(journal: TurnJournal) -> str:
    """Where the newest of a turn's messages was to be answered."""
    return next((event.address for event in reversed(journal.all_events) if event.address), "")
