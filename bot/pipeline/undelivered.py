"""Deliveries that wait in the outbox or are kept, and those that delete what was shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.json import Decoder

from bot.channels import Delivery, Reply
from bot.store import Store
from bot.transcript import UNREADABLE

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
