"""Answers that wait to be delivered or fetched, and what becomes of them when their messages are taken back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from msgspec.json import Decoder

from bot.channels import Channel, Delivery, Reply
from bot.store import Lease, Store
from bot.transcript import UNREADABLE, encode

MOST_DELIVERIES = 16  # of one turn: the pieces of its answer, files and a poll

decode_delivery = Decoder(Delivery).decode


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
    store: Store, lease: Lease, channel: Channel, waiting: Sequence[Undelivered], unsent: Collection[str]
) -> None:
    """Remove answers whose messages are all taken back; what a channel can delete of them is deleted.

    Args:
        unsent: ids of the messages.

    Raises:
        LeaseLost: another process has the conversation.
    """
    void = [one for one in waiting if one.delivery.answers and set(one.delivery.answers) <= set(unsent)]
    for back in taking_back_each(one.delivery for one in void if channel.takes_back):
        await store.journal.dismiss(lease, b"", encode(back))
    if void:
        await store.journal.withdraw(lease, [one.raw for one in void])


def taking_back_each(answers: Iterable[Delivery]) -> list[Delivery]:
    """For each turn the delivery that deletes what has been shown of these answers."""
    addresses: dict[str, str] = {}
    for one in answers:
        if one.answers:
            addresses.setdefault(one.turn_id, one.address)
    return [taking_back(turn_id, address) for turn_id, address in addresses.items()]


def taking_back(turn_id: str, address: str, deliveries: int = MOST_DELIVERIES) -> Delivery:
    """The delivery that deletes what a turn has shown: its stream, and the messages of so many deliveries."""
    ids = tuple(f"{turn_id}_{number}" for number in range(1, deliveries + 1))
    return Delivery(f"{turn_id}_back", turn_id, reply_taking_back(turn_id, ids), address)


def reply_taking_back(turn_id: str, delivery_ids: tuple[str, ...] = ()) -> Reply:
    """A reply that deletes."""
    return Reply("", settles=turn_id, fleeting=True, takes_back=delivery_ids)
