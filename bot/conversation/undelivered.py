"""Answers that wait to be delivered or fetched, and what becomes of them when their messages are
taken back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels import Channel, Delivery, InboundEvent, Reply
from bot.clock import now_ms
from bot.conversation.history import KEEP_TURNS, read_turns
from bot.store import Lease, Store
from bot.store.keys import MOMENT_S
from bot.transcript import UNREADABLE, TurnRecord, encode

# One turn has at most so many: the pieces of its answer, files and a poll.
MOST_DELIVERIES = 16

decode_delivery = Decoder(Delivery).decode


class Undelivered(NamedTuple):
    """A delivery in the outbox or among the late answers, and the stored bytes that identify it."""

    raw: bytes
    delivery: Delivery

    def without(self, unsent: Collection[str]) -> bytes:
        """The bytes of the same delivery, as far as it answers other messages."""
        name, line_feed, _ = self.raw.rpartition(b"\n")
        left = tuple(one for one in self.delivery.answers if one not in unsent)
        return name + line_feed + encode(replace(self.delivery, answers=left))


async def read_undelivered(store: Store, conversation: str) -> list[Undelivered]:
    """All deliveries that can be read, oldest first."""
    stored = [(raw, raw) for raw in await store.outbox.read(conversation)]
    for late in await store.late_answers.read(conversation):
        stored.append((late.frame, late.delivery))
    found = []
    for raw, delivery in stored:
        try:
            found.append(Undelivered(raw, decode_delivery(delivery)))
        except UNREADABLE:
            continue  # the relay deals with it
    return found


def is_reopened_by(delivery: Delivery, edited: Collection[str]) -> bool:
    """Whether edits of these messages reopen the turn of an answer that waits."""
    return delivery.changes is not None and not set(delivery.answers).isdisjoint(edited)


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
        unsent: ids of the messages; those that were taken back before are neither in the history
            nor in what waits.
        changes: the events that took them back; an answer that was given a moment before is deleted
            too.

    Raises:
        LeaseLost: another process has the conversation.
    """
    waiting = await read_undelivered(store, lease.conversation)
    records = await _void_turns(store, lease.conversation, unsent)
    turns = {record.turn_id for record in records}
    void, left = list[Undelivered](), list[Undelivered]()
    for one in waiting:
        (void if _is_void(one.delivery, turns, unsent) else left).append(one)
    if channel.takes_back:
        waits = {one.delivery.turn_id for one in waiting}
        backs = taking_back_each(one.delivery for one in void)
        for record in records:
            if record.turn_id not in waits and (back := _given_before(record, changes)):
                backs.append(back)
        for back in backs:
            await store.journal.dismiss(lease, b"", encode(back))
    if void:
        await store.journal.withdraw(lease, [one.raw for one in void])
    # A deleted message is in no history. So the ids of the messages that a delivery answers are
    # all that shows, when the last of them is taken back, that it answers nothing any more.
    for one in left:
        if not set(one.delivery.answers).isdisjoint(unsent):
            await store.outbox.amend(lease, one.raw, one.without(unsent))


async def _void_turns(store: Store, conversation: str, unsent: Collection[str]) -> list[TurnRecord]:
    """The turns of the history whose messages are all taken back."""
    turns = read_turns(await store.history.recall(conversation, KEEP_TURNS))
    void = []
    for _, record in turns.all:
        asked = _asked(record)
        if asked and asked <= set(unsent):
            void.append(record)
    return void


def _is_void(delivery: Delivery, turns: Collection[str], unsent: Collection[str]) -> bool:
    """Whether a delivery answers nothing but what is taken back; a translation has no turn in the
    history."""
    answers = set(delivery.answers)
    return bool(answers) and (delivery.turn_id in turns or answers <= set(unsent))


def _given_before(record: TurnRecord, changes: Sequence[InboundEvent]) -> Delivery | None:
    """The deletion of a turn's answer, if it was given a moment before a change of its messages."""
    asked = _asked(record)
    for change in changes:
        if change.target in asked and change.address:
            # What counts is when the change was made: a process may have died before it read it.
            if min(now_ms(), change.message.at) < record.at + MOMENT_S * 1000:
                return taking_back(record.turn_id, change.address)
            break
    return None


def _asked(record: TurnRecord) -> set[str]:
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
    return Delivery(f"{turn_id}_back", turn_id, reply_taking_back(turn_id, ids), address)


def reply_taking_back(turn_id: str, delivery_ids: tuple[str, ...] = ()) -> Reply:
    """A reply that deletes."""
    return Reply("", settles=turn_id, fleeting=True, takes_back=delivery_ids)
