"""Deliveries as they are stored: in the outbox, held until another one brings them, or as dead
letters; and those that delete what was sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.json import Decoder
from msgspec.structs import replace

from bot.channels import Delivery, Reply
from bot.store import Store
from bot.transcript import UNREADABLE, encode

# One turn has at most so many: the pieces of its answer, files and a poll.
MOST_DELIVERIES = 16
decode_delivery = Decoder(Delivery).decode


def reset_attempts(raw: bytes) -> bytes:
    """A dead letter's delivery for a new round of attempts; its attempt count still marks it as a
    repetition.

    Raises:
        DecodeError: it cannot be read.
    """
    delivery = decode_delivery(raw)
    return encode(
        replace(delivery, refusals=delivery.attempts, refused_since=0, not_before=0, failures=0)
    )


class Undelivered(NamedTuple):
    """A delivery in the outbox, or one that is held, and the stored bytes that identify it."""

    raw: bytes
    delivery: Delivery


async def read_stored(store: Store, conversation: str) -> list[bytes]:
    """The deliveries of the outbox and the held ones, each oldest first."""
    return [*await store.outbox.read(conversation), *await store.outbox.kept(conversation)]


async def read_undelivered(store: Store, conversation: str) -> list[Undelivered]:
    """Those of them that can be read."""
    return _readable(await read_stored(store, conversation))


async def read_outbox(store: Store, conversation: str) -> list[Delivery]:
    """Those of the outbox that can be read, oldest first."""
    return [one.delivery for one in _readable(await store.outbox.read(conversation))]


async def read_held(store: Store, conversation: str, asker: str) -> list[Undelivered]:
    """The held deliveries to a person, oldest first."""
    held = _readable(await store.outbox.kept(conversation))
    return [one for one in held if one.delivery.asker == asker]


def _readable(stored: Iterable[bytes]) -> list[Undelivered]:
    found = []
    for raw in stored:
        try:
            found.append(Undelivered(raw, decode_delivery(raw)))
        except UNREADABLE:
            continue  # of the outbox, the relay deals with it
    return found


def deletions_of(answers: Iterable[Delivery]) -> list[Delivery]:
    """For each turn the delivery that deletes what has been shown of these answers."""
    addresses: dict[str, str] = {}
    for one in answers:
        if one.answers:
            addresses.setdefault(one.turn_id, one.address)
    return [deletion_of(turn_id, address) for turn_id, address in addresses.items()]


def deletion_of(turn_id: str, address: str, deliveries: int = MOST_DELIVERIES) -> Delivery:
    """The delivery that deletes what a turn has shown: its stream, and the messages of so many
    deliveries."""
    ids = tuple(f"{turn_id}_{number}" for number in range(1, deliveries + 1))
    nothing = empty_reply(turn_id)
    return Delivery(f"{turn_id}_back", turn_id, nothing, address, deletes=ids)


def empty_reply(turn_id: str) -> Reply:
    """The reply of a delivery that deletes what a turn has shown."""
    return Reply("", replaces=turn_id, keep="until_refused")
