"""The steps that a turn records while it runs, and stored deliveries: how they are read back, after
a crash by another process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog
from msgspec import Raw, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.agent.turn import ApprovalDecision, RecordedResponse, StartedCall, TurnStep
from bot.channels import ButtonCard, Delivery, InboundEvent, Reply
from bot.store import InboxEntry, Store
from bot.store.keys import Entry
from bot.transcript import UNREADABLE, ToolResult, encode

log = structlog.stdlib.get_logger(__name__)

RESPONSE, RESULT, STARTED, PARKED, DECIDED = "response", "result", "started", "parked", "decided"


class Parked(Struct, frozen=True):
    """The turn waits until somebody has decided about a call.

    Attributes:
        card: asks them; it has a deadline.
        value: what the feature needs to read the answer.
    """

    card: ButtonCard
    value: Raw


decode_event = Decoder(InboundEvent).decode

# An inbound event among the steps has joined the turn in its middle.
Step = TurnStep | Parked | ApprovalDecision | InboundEvent
DECODERS: Mapping[str, Callable[[bytes], Step]] = {
    RESPONSE: Decoder(RecordedResponse).decode,
    RESULT: Decoder(ToolResult).decode,
    STARTED: Decoder(StartedCall).decode,
    PARKED: Decoder(Parked).decode,
    DECIDED: Decoder(ApprovalDecision).decode,
}


@dataclass(slots=True)
class TurnJournal:
    """A decoded journal: the events that the turn began with, then all other entries in their
    order."""

    events: list[InboundEvent] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    @property
    def parked(self) -> Parked | None:
        """What the turn waits for."""
        last = self.steps[-1] if self.steps else None
        return last if isinstance(last, Parked) else None

    @property
    def all_events(self) -> list[InboundEvent]:
        """The events that the turn began with, and those that have joined it."""
        return [*self.events, *(step for step in self.steps if isinstance(step, InboundEvent))]


def read_entries(entries: Iterable[Entry]) -> TurnJournal:
    """Decode a journal's entries.

    Raises:
        DecodeError: an entry cannot be read.
    """
    journal = TurnJournal()
    for entry in entries:
        if entry.kind in DECODERS:
            journal.steps.append(DECODERS[entry.kind](entry.body))
        elif journal.steps:
            journal.steps.append(decode_event(entry.body))
        else:
            journal.events.append(decode_event(entry.body))
    return journal


def readable_events(entries: Iterable[Entry]) -> list[InboundEvent]:
    """The events among a journal's entries, without those that cannot be read."""
    events = []
    for entry in entries:
        if entry.kind not in DECODERS and (event := read_event(entry.body)) is not None:
            events.append(event)
    return events


def read_event(body: bytes) -> InboundEvent | None:
    """Decode an inbound event; None if it cannot be read."""
    try:
        return decode_event(body)
    except UNREADABLE:
        log.error("inbox.unreadable")
        return None


def readable(waiting: Iterable[InboxEntry]) -> list[tuple[InboxEntry, InboundEvent]]:
    """Decode an inbox, without entries that cannot be read; the next turn deals with those."""
    return [(entry, event) for entry in waiting if (event := read_event(entry.body)) is not None]


async def read_waiting(store: Store, conversation: str) -> list[InboundEvent]:
    """The events of an inbox, without those that cannot be read."""
    return [event for _, event in readable(await store.inbox.read(conversation))]


def newest_address(events: Sequence[InboundEvent], otherwise: str = "") -> str:
    """Where the newest of these events that has an address is to be answered."""
    for event in reversed(events):
        if event.address:
            return event.address
    return otherwise


async def read_open_card(store: Store, conversation: str) -> ButtonCard | None:
    """The card that the turn of a conversation waits for.

    Raises:
        StoreUnavailable: the store does not answer.
    """
    parked = read_entries(await store.journal.read(conversation)).parked
    return parked.card if parked else None


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
