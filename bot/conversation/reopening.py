"""Answers that came a moment too early: their questions were changed before the answers had arrived
as a whole.

The turn that was committed last goes on from its journal, which is kept while its answer is
delivered and a moment longer. An older turn goes on from its entry in the history, if an edited
question's answer still waits. What the outbox and the late answers hold of it is not sent, and what
a channel can delete is deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import structlog
from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.agent.turn import RecordedResponse
from bot.channels import Channel, Delivery, InboundEvent
from bot.conversation.history import KEEP_TURNS, StoredTurn, Turns, read_turns
from bot.conversation.inbound import MOST_CHANGES
from bot.conversation.journal import (
    RESPONSE,
    RESULT,
    newest_address,
    read_entries,
    readable_events,
)
from bot.conversation.services import Services
from bot.conversation.triage import CONVERSATION_DELETED, parse
from bot.conversation.undelivered import Undelivered, is_reopened_by, read_undelivered, taking_back
from bot.store import ARRIVAL, CHANGE, Lease
from bot.store.frames import Entry
from bot.transcript import UNREADABLE, Message, TurnRecord, encode, new_id

log = structlog.stdlib.get_logger(__name__)


class AnsweredTurn(Struct, frozen=True):
    """What the journal of a committed turn lacks: its id, and how many deliveries it left."""

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
        changed, edits = set(unsent), []
        for event in events:
            if event.event == CONVERSATION_DELETED:
                return False
            if event.event == "edited" and event.target not in unsent:
                changed.add(event.target)
                edits.append(event)
        if not changed:
            return False
        waiting = await read_undelivered(self._store, lease.conversation)
        if await self._reopen_answered(lease, channel, waiting, changed, unsent):
            return True
        return bool(edits) and await self._reopen_older(lease, channel, waiting, edits)

    async def _reopen_answered(
        self,
        lease: Lease,
        channel: Channel,
        waiting: Sequence[Undelivered],
        changed: Collection[str],
        unsent: Collection[str],
    ) -> bool:
        stored = await self._store.journal.read_answered(lease.conversation)
        if stored is None:
            return False
        try:
            turn, journal = _decode(stored[0]), read_entries(stored[1])
        except UNREADABLE:
            log.error("journal.unreadable")
            return False
        counts = changed if len(journal.changes) < MOST_CHANGES else unsent
        concerned = any(event.message.id in counts for event in journal.all_events)
        void = _answers_of(turn.turn_id, waiting)
        if not concerned or not (void or channel.takes_back):
            return False
        sends = b""
        if channel.takes_back:
            address = newest_address(journal.all_events)
            sends = encode(taking_back(turn.turn_id, address, turn.deliveries))
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
        for _, answer in waiting:
            if is_reopened_by(answer, edited):
                break
        else:
            return False
        turns = read_turns(await self._store.history.recall(lease.conversation, KEEP_TURNS))
        stored = _find(answer.turn_id, turns)
        if stored is None:
            return False
        entry, record = stored
        journal = _journal_of(record, answer, group=edits[0].group)
        for event in readable_events(journal):
            # In the history a command looks like a pressed choice, or like an edited text that
            # reads as a command.
            if parse(event, self._commands).command:
                return False
        sends = b""
        if channel.takes_back:
            sends = encode(taking_back(answer.turn_id, answer.address))
        is_reopened = journal and await self._store.journal.reopen_older(
            lease,
            new_id("turn"),
            record=entry,
            journal=journal,
            undelivered=_answers_of(answer.turn_id, waiting),
            sends=sends,
            is_summarised=stored in turns.summarised,
        )
        if not is_reopened:
            return False
        log.info("turn.reopened", answered=answer.turn_id)
        return True


def _find(turn_id: str, turns: Turns) -> StoredTurn | None:
    for stored in turns.all:
        if stored[1].turn_id == turn_id:
            return stored
    return None


def _answers_of(turn_id: str, waiting: Iterable[Undelivered]) -> list[bytes]:
    """What waits of a turn's answer."""
    answers = []
    for raw, delivery in waiting:
        if delivery.turn_id == turn_id and delivery.answers:
            answers.append(raw)
    return answers


def _journal_of(record: TurnRecord, answer: Delivery, *, group: bool) -> list[Entry]:
    """The journal of a turn, made of its entry in the history, without its answer.

    The changes that the turn has read already are among the entries: they change nothing again,
    and count towards ``MOST_CHANGES``.
    """
    journal = []
    first: Message | None = None
    for message in record.messages:
        if message.role == "user":
            first = first or message
            journal.append(Entry(ARRIVAL, encode(InboundEvent(message, answer.address, group))))
        elif message.role == "tool":
            for result in message.results:
                journal.append(Entry(RESULT, encode(result)))
        elif message.calls:
            journal.append(Entry(RESPONSE, encode(RecordedResponse(message, "tool_use"))))
    if first:
        own = tuple(part for part in first.parts if part not in first.quoted_pictures)
        for index, change_id in enumerate(answer.changes or (), 1):
            change = replace(first, id=change_id, parts=own, quotes=())
            event = InboundEvent(change, group=group, event="edited", target=first.id)
            journal.insert(index, Entry(CHANGE, encode(event)))
    return journal
