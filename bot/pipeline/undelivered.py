"""Answers that wait to be delivered or fetched, and what becomes of them when their messages are
taken back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.json import Decoder

from bot.channels import Channel, Delivery, InboundEvent, Reply
from bot.clock import now_ms
from bot.pipeline.history import KEEP_TURNS, read_turns
from bot.store import Lease, Store
from bot.transcript import UNREADABLE, TurnRecord, encode

# An answer that was given so short a time before its messages were taken back is deleted.
MOMENT_S = 10
# One turn has at most so many: the pieces of its answer, files and a poll.
MOST_DELIVERIES = 16

decode_delivery = Decoder(Delivery).decode


class Undelivered(NamedTuple):
    """A delivery in the outbox, or one that is kept, and the stored bytes that identify it."""

    raw: bytes
    delivery: Delivery


async def read_stored(store: Store, conversation: str) -> list[bytes]:
    """The deliveries of the outbox and the kept ones, each oldest first."""
    return [*await store.outbox.read(conversation), *await store.outbox.kept(conversation)]


async def read_undelivered(store: Store, conversation: str) -> list[Undelivered]:
    """Those of them that can be read."""
    return _readable(await read_stored(store, conversation))


async def read_outbox(store: Store, conversation: str) -> list[Delivery]:
    """Those of the outbox that can be read, oldest first."""
    return [one.delivery for one in _readable(await store.outbox.read(conversation))]


async def read_kept(store: Store, conversation: str, asker: str) -> list[Undelivered]:
    """The kept deliveries to a person, oldest first."""
    kept = _readable(await store.outbox.kept(conversation))
    return [one for one in kept if one.delivery.asker == asker]


def _readable(stored: Iterable[bytes]) -> list[Undelivered]:
    found = []
    for raw in stored:
        try:
            found.append(Undelivered(raw, decode_delivery(raw)))
        except UNREADABLE:
            continue  # of the outbox, the relay deals with it
    return found


def is_reopened_by(delivery: Delivery, changed: Collection[str]) -> bool:
    """Whether changes of these messages reopen the turn of an answer that waits."""
    return delivery.may_be_reopened and not set(delivery.answers).isdisjoint(changed)


def takes_back(delivery: Delivery) -> bool:
    """Whether a delivery deletes what was shown."""
    return delivery.deletes is not None


def stays_without(author_id: str, raw: bytes) -> bool:
    """Whether a delivery stays when this person is forgotten: it deletes what was shown, or asks
    another person, whose turn waits for the answer."""
    try:
        delivery = decode_delivery(raw)
    except UNREADABLE:
        return False
    asks_another = bool(delivery.reply.awaited) and delivery.asker != author_id
    return takes_back(delivery) or asks_another


async def withdraw_answers(
    store: Store,
    lease: Lease,
    channel: Channel,
    unsent: Collection[str],
    changes: Sequence[InboundEvent] = (),
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
    waiting = await read_undelivered(store, lease.conversation)
    records = await _read_records(store, lease.conversation)
    void = [one for one in waiting if _is_void(one.delivery, records, unsent)]
    if channel.abilities.deletes:
        waits = {one.delivery.turn_id for one in waiting}
        backs = taking_back_each(one.delivery for one in void)
        for record in records.values():
            is_void = asked_in(record) <= set(unsent)
            if is_void and record.turn_id not in waits and (back := _given_before(record, changes)):
                backs.append(back)
        for back in backs:
            await store.journal.dismiss(lease, b"", encode(back))
    if void:
        await store.journal.withdraw(lease, [one.raw for one in void])


async def _read_records(store: Store, conversation: str) -> dict[str, TurnRecord]:
    """The turns of the history that can be read, by id."""
    turns = read_turns(await store.history.recall(conversation, KEEP_TURNS))
    return {record.turn_id: record for _, record in turns.all if asked_in(record)}


def _is_void(
    delivery: Delivery, records: Mapping[str, TurnRecord], unsent: Collection[str]
) -> bool:
    """Whether a delivery answers what is taken back, and nothing else.

    Only the history shows what was taken back before: an answer whose turn it does not hold, as
    after ``/reset``, goes with the first of its messages.
    """
    record = records.get(delivery.turn_id)
    if record and delivery.answers:
        return asked_in(record) <= set(unsent)
    return not set(delivery.answers).isdisjoint(unsent)


def _given_before(record: TurnRecord, changes: Sequence[InboundEvent]) -> Delivery | None:
    """The deletion of a turn's answer, if it was given a moment before a change of its messages."""
    asked = asked_in(record)
    for change in changes:
        if change.target in asked and change.address:
            # What counts is when the change was made: a process may have died before it read it.
            if min(now_ms(), change.message.at) < record.at + MOMENT_S * 1000:
                return taking_back(record.turn_id, change.address)
            break
    return None


def asked_in(record: TurnRecord) -> set[str]:
    """The ids of the messages that a turn answers."""
    return {message.id for message in record.messages if message.role == "user"}


def taking_back_each(answers: Iterable[Delivery]) -> list[Delivery]:
    """For each turn the delivery that deletes what has been shown of these answers."""
    addresses: dict[str, str] = {}
    for one in answers:
        if one.answers:
            addresses.setdefault(one.turn_id, one.address)
    return [taking_back(turn_id, address) for turn_id, address in addresses.items()]


def taking_back(turn_id: str, address: str, deliveries: int = MOST_DELIVERIES) -> Delivery:
    """The delivery that deletes what a turn has shown: its stream, and the messages of so many
    deliveries."""
    ids = tuple(f"{turn_id}_{number}" for number in range(1, deliveries + 1))
    nothing = nothing_to_say(turn_id)
    return Delivery(f"{turn_id}_back", turn_id, nothing, address, deletes=ids)


def nothing_to_say(turn_id: str) -> Reply:
    """The reply of a delivery that deletes what a turn has shown."""
    return Reply("", replaces=turn_id, keep="until_refused")
