"""Answers that wait to be delivered or fetched, and what becomes of them when their messages are taken back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from bot.channels import Channel, Delivery, Reply
from bot.conversation.edits import decode_delivery
from bot.store import Lease, Store
from bot.transcript import UNREADABLE, TurnRecord, encode

MOST_DELIVERIES = 16  # of one turn: the pieces of its answer, files and a poll


class Undelivered(NamedTuple):
    """A delivery in the outbox or among the late answers, and the stored bytes that identify it."""

    raw: bytes
    delivery: Delivery


async def read_undelivered(store: Store, conversation: str) -> list[Undelivered]:
    """All deliveries that can be read, oldest first."""
    stored = [(raw, raw) for raw in await store.outbox.read(conversation)]
    stored += [(kept.frame, kept.delivery) for kept in await store.late_answers.read(conversation)]
    found = []
    for raw, delivery in stored:
        try:
            found.append(Undelivered(raw, decode_delivery(delivery)))
        except UNREADABLE:
            continue  # the relay deals with it
    return found


async def withdraw_answers(
    store: Store,
    lease: Lease,
    channel: Channel,
    waiting: Sequence[Undelivered],
    unsent: Collection[str],
    void_turns: Iterable[TurnRecord],
) -> None:
    """Remove answers whose messages are all taken back; what a channel can delete of them is deleted.

    Args:
        unsent: ids of messages that are taken back now.
        void_turns: of the history, where the other messages of a turn may have been taken back before.

    Raises:
        LeaseLost: another process has the conversation.
    """
    gone, turns = set(unsent), {record.turn_id for record in void_turns}
    answers = [one for one in waiting if one.delivery.answers]
    void = [one for one in answers if one.delivery.turn_id in turns or set(one.delivery.answers) <= gone]
    for turn_id in dict.fromkeys(one.delivery.turn_id for one in void if channel.takes_back):
        address = next(one.delivery.address for one in void if one.delivery.turn_id == turn_id)
        await store.journal.dismiss(lease, b"", encode(taking_back(turn_id, address)))
    if void:
        await store.journal.withdraw(lease, [one.raw for one in void])


def taking_back(turn_id: str, address: str, deliveries: int = MOST_DELIVERIES) -> Delivery:
    """The delivery that deletes what a turn has shown: its stream, and the messages of so many deliveries."""
    ids = tuple(f"{turn_id}_{number}" for number in range(1, deliveries + 1))
    return Delivery(f"{turn_id}_back", turn_id, reply_taking_back(turn_id, ids), address)


def reply_taking_back(turn_id: str, delivery_ids: tuple[str, ...] = ()) -> Reply:
    """A reply that deletes."""
    return Reply("", settles=turn_id, fleeting=True, takes_back=delivery_ids)
