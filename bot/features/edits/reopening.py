"""Answers that came a moment too early: their questions were changed before all of the answer was
sent.

A turn goes on from its entry in the history if a message that it answers is changed while a part of
its answer waits. What waits of it is not sent, and what a channel can delete is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from bot.agent.turn import RecordedResponse
from bot.channels import Delivery, InboundEvent
from bot.pipeline.history import KEEP_TURNS, StoredTurn, Turns, asked_in, read_turns
from bot.pipeline.journal import RESPONSE, RESULT, deletion_of, read_undelivered, readable_events
from bot.pipeline.select import CONVERSATION_DELETED, parse
from bot.pipeline.services import Services
from bot.store import ARRIVAL, Lease, ReopenedTurn
from bot.store.keys import Entry
from bot.transcript import TurnRecord, channel_of, encode, new_id

log = structlog.stdlib.get_logger(__name__)


async def reopen(services: Services, lease: Lease, events: Sequence[InboundEvent]) -> bool:
    """Reopen the oldest turn whose answer waits and of whose messages these events change some, one
    at a time; other changes wait for its end.

    Args:
        events: all that the turn has begun with, which has no step.

    Returns:
        Whether it goes on; then the events are in the inbox again.

    Raises:
        LeaseLost: nothing was done.
    """
    store, channel = services.store, services.channels[channel_of(lease.conversation)]
    changed, unsent = set[str](), set[str]()
    for event in events:
        if event.event == CONVERSATION_DELETED:
            return False
        if event.is_change:
            changed.add(event.target)
        if event.event == "unsent":
            unsent.add(event.target)
    waiting = await read_undelivered(store, lease.conversation)
    for _, answer in waiting:
        if answer.is_reopened_by(changed):
            break
    else:
        return False
    turns = read_turns(await store.history.recall(lease.conversation, KEEP_TURNS))
    stored = _find(answer.turn_id, turns)
    # A turn whose messages are all taken back does not go on, and its answer goes with them.
    if stored is None or set(asked_in(stored[1].messages)) <= unsent:
        return False
    journal = _journal_of(stored[1], answer, group=events[0].group)
    for event in readable_events(journal):
        # In the history a command looks like a pressed choice, or like an edited text that
        # reads as a command.
        if parse(event, services.commands).command:
            return False
    sends = b""
    if channel.abilities.deletes:
        sends = encode(deletion_of(answer.turn_id, answer.address))
    undelivered = [raw for raw, one in waiting if one.turn_id == answer.turn_id and one.answers]
    goes_on = ReopenedTurn(stored[0], journal, len(events), stored in turns.summarised)
    await store.journal.reopen(lease, new_id("turn"), goes_on, undelivered, sends)
    log.info("turn.reopened", answered=answer.turn_id)
    return True


def _find(turn_id: str, turns: Turns) -> StoredTurn | None:
    for stored in turns.all:
        if stored[1].turn_id == turn_id:
            return stored
    return None


def _journal_of(record: TurnRecord, answer: Delivery, *, group: bool) -> list[Entry]:
    """The journal of a turn, made of its entry in the history, without its answer."""
    journal = []
    for message in record.messages:
        if message.role == "user":
            journal.append(Entry(ARRIVAL, encode(InboundEvent(message, answer.address, group))))
        elif message.role == "tool":
            for result in message.results:
                journal.append(Entry(RESULT, encode(result)))
        elif message.calls:
            journal.append(Entry(RESPONSE, encode(RecordedResponse(message, "tool_use"))))
    return journal
