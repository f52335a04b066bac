"""The steps that a turn records while it runs, and how another process reads them back after a
crash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog
from msgspec import Struct
from msgspec.json import Decoder

from bot.agent.turn import ApprovalDecision, RecordedResponse, StartedCall, TurnStep
from bot.channels import ButtonCard, InboundEvent
from bot.pipeline.questions import Question, card_of
from bot.store import InboxEntry, Store
from bot.store.frames import Entry
from bot.texts import Texts
from bot.transcript import UNREADABLE, ToolResult

log = structlog.stdlib.get_logger(__name__)

RESPONSE, RESULT, STARTED, ASKED, DECIDED = "response", "result", "started", "asked", "decided"


class ApprovalRequest(Struct, frozen=True, omit_defaults=True):
    """A question to a person, whether a call may be made.

    Attributes:
        address: where the question was sent.
        language: of the person who is asked.
    """

    question: Question
    address: str = ""
    language: str = "en"


decode_event = Decoder(InboundEvent).decode

# An inbound event among the steps has joined the turn in its middle.
Step = TurnStep | ApprovalRequest | ApprovalDecision | InboundEvent
DECODERS: Mapping[str, Callable[[bytes], Step]] = {
    RESPONSE: Decoder(RecordedResponse).decode,
    RESULT: Decoder(ToolResult).decode,
    STARTED: Decoder(StartedCall).decode,
    ASKED: Decoder(ApprovalRequest).decode,
    DECIDED: Decoder(ApprovalDecision).decode,
}


@dataclass(slots=True)
class TurnJournal:
    """A decoded journal: the events that the turn began with, then all other entries in their
    order."""

    events: list[InboundEvent] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    @property
    def open_question(self) -> ApprovalRequest | None:
        """The question that waits for a person's decision."""
        if self.steps and isinstance(self.steps[-1], ApprovalRequest):
            return self.steps[-1]
        return None

    @property
    def asked(self) -> ApprovalRequest:
        """The open question.

        Raises:
            ValueError: there is none.
        """
        asked = self.open_question
        if asked is None:
            raise ValueError("no question is open")
        return asked

    @property
    def all_events(self) -> list[InboundEvent]:
        """The events that the turn began with, and those that have joined it."""
        return [*self.events, *(step for step in self.steps if isinstance(step, InboundEvent))]

    def ids_of(self, author_id: str) -> set[str]:
        """Ids of the messages by this author that the turn answers."""
        return {event.message.id for event in self.all_events if event.author_id == author_id}


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


async def read_open_question(store: Store, conversation: str) -> Question | None:
    """The question of a conversation that waits for a decision.

    Raises:
        StoreUnavailable: the store does not answer.
    """
    asked = read_entries(await store.journal.read(conversation)).open_question
    return asked.question if asked else None


async def read_open_card(store: Store, texts: Texts, conversation: str) -> ButtonCard | None:
    """The card of the question of a conversation that waits for a decision.

    Raises:
        StoreUnavailable: the store does not answer.
    """
    asked = read_entries(await store.journal.read(conversation)).open_question
    return card_of(asked.question, texts, asked.language) if asked else None
