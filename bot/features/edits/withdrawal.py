"""Answers whose messages are taken back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bot.channels import Delivery, InboundEvent
from bot.clock import now_ms
from bot.pipeline.history import KEEP_TURNS, asked_in, read_turns
from bot.pipeline.journal import deletion_of, deletions_of, read_undelivered
from bot.pipeline.services import Services
from bot.store import Lease, Store
from bot.transcript import TurnRecord, channel_of, encode

# An answer that was given so short a time before its messages were taken back is deleted.
MOMENT_S = 10


async def withdraw_answers(
    services: Services,
    lease: Lease,
    unsent: Collection[str],
    changes: Sequence[InboundEvent],
) -> None:
    """Remove answers whose messages are all taken back; what a channel can delete of them is
    deleted.

    Args:
        unsent: ids of the messages; those that were taken back before are not in the history.
        changes: the events that took them back; an answer that was given a moment before is deleted
            too.

    Raises:
        LeaseLost: another process has the conversation.
    """
    store, channel = services.store, services.channels[channel_of(lease.conversation)]
    waiting = await read_undelivered(store, lease.conversation)
    records = await _read_records(store, lease.conversation)
    void = [one for one in waiting if _is_void(one.delivery, records, unsent)]
    if channel.abilities.deletes:
        waits = {one.delivery.turn_id for one in waiting}
        backs = deletions_of(one.delivery for one in void)
        for record in records.values():
            is_void = set(asked_in(record.messages)) <= set(unsent)
            if is_void and record.turn_id not in waits and (back := _given_before(record, changes)):
                backs.append(back)
        for back in backs:
            await store.journal.dismiss(lease, b"", encode(back))
    if void:
        await store.journal.withdraw(lease, [one.raw for one in void])


async def _read_records(store: Store, conversation: str) -> dict[str, TurnRecord]:
    """The turns of the history that can be read, by id."""
    turns = read_turns(await store.history.recall(conversation, KEEP_TURNS))
    return {record.turn_id: record for _, record in turns.all if asked_in(record.messages)}


def _is_void(
    delivery: Delivery, records: Mapping[str, TurnRecord], unsent: Collection[str]
) -> bool:
    """Whether a delivery answers what is taken back, and nothing else.

    Only the history shows what was taken back before: an answer whose turn it does not hold, as
    after ``/reset``, goes with the first of its messages.
    """
    record = records.get(delivery.turn_id)
    if record and delivery.answers:
        return set(asked_in(record.messages)) <= set(unsent)
    return not set(delivery.answers).isdisjoint(unsent)


def _given_before(record: TurnRecord, changes: Sequence[InboundEvent]) -> Delivery | None:
    """The deletion of a turn's answer, if it was given a moment before a change of its messages."""
    asked = set(asked_in(record.messages))
    for change in changes:
        if change.target in asked and change.address:
            # What counts is when the change was made: a process may have died before it read it.
            if min(now_ms(), change.message.at) < record.at + MOMENT_S * 1000:
                return deletion_of(record.turn_id, change.address)
            break
    return None
