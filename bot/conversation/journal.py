"""What a turn writes down while it runs, and how it is read back after a crash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import structlog
from msgspec import Struct
from msgspec.json import Decoder

from bot.agent.turn import ApprovalDecision, TurnUpdate
from bot.channels import InboundEvent, Question
from bot.providers import StopReason
from bot.store import Lease, Store, Waiting
from bot.store.frames import Entry
from bot.transcript import UNREADABLE, Author, Message, Spending, ToolCall, ToolResult, encode

log = structlog.stdlib.get_logger(__name__)

SAID, RESULT, BEGUN, ASKED, DECIDED = "said", "result", "begun", "asked", "decided"
OWN = (SAID, RESULT, BEGUN, ASKED, DECIDED)


class Said(Struct, frozen=True):
    """A model response as the journal keeps it."""

    message: Message
    stop_reason: StopReason


class Begun(Struct, frozen=True):
    """A call that must not be made twice, noted right before it is made."""

    call_id: str


class ApprovalRequest(Struct, frozen=True, omit_defaults=True):
    """A person was asked whether a call may be made.

    Attributes:
        address: where the question was sent.
        language: of the person who is asked.
        before: entries that waited in the inbox then, which are no answer to it.
    """

    question: Question
    address: str = ""
    language: str = "en"
    before: int = 0


decode_arrival = Decoder(InboundEvent).decode
decode_said = Decoder(Said).decode
decode_result = Decoder(ToolResult).decode

Step = (
    Said | ToolResult | Begun | ApprovalRequest | ApprovalDecision | InboundEvent
)  # an arrival that has joined the turn between two steps
DECODERS: Mapping[str, Callable[[bytes], Step]] = {
    SAID: decode_said,
    RESULT: decode_result,
    BEGUN: Decoder(Begun).decode,
    ASKED: Decoder(ApprovalRequest).decode,
    DECIDED: Decoder(ApprovalDecision).decode,
}


@dataclass(slots=True)
class Kept:
    """A journal read back: what the turn began with, then everything else in the order it was written."""

    arrivals: list[InboundEvent] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    @property
    def open_question(self) -> ApprovalRequest | None:
        """What a person has been asked and has not decided."""
        last = self.steps[-1] if self.steps else None
        return last if isinstance(last, ApprovalRequest) else None

    @property
    def asked(self) -> ApprovalRequest:
        """The same, for who knows that there is one."""
        asked = self.open_question
        if asked is None:
            raise ValueError("no question is open")
        return asked

    def ids_of(self, author_id: str) -> set[str]:
        """The messages of this person that the turn answers."""
        arrivals = [*self.arrivals, *(step for step in self.steps if isinstance(step, InboundEvent))]
        return {arrival.message.id for arrival in arrivals if arrival.author_id == author_id}


def read_entries(entries: Iterable[Entry]) -> Kept:
    """Decode a journal's entries."""
    kept = Kept()
    for entry in entries:
        if entry.kind in OWN:
            kept.steps.append(DECODERS[entry.kind](entry.body))
        elif kept.steps:
            kept.steps.append(decode_arrival(entry.body))
        else:
            kept.arrivals.append(decode_arrival(entry.body))
    return kept


def readable_arrivals(entries: Iterable[Entry]) -> list[InboundEvent]:
    """What the turn has taken in, as far as it can be read."""
    arrivals = []
    for entry in entries:
        if entry.kind not in OWN:
            with suppress(*UNREADABLE):
                arrivals.append(decode_arrival(entry.body))
    return arrivals


def readable(waiting: list[Waiting]) -> list[tuple[Waiting, InboundEvent]]:
    """The entries that can be read; the next turn deals with the others."""
    read = []
    for entry in waiting:
        try:
            read.append((entry, decode_arrival(entry.body)))
        except UNREADABLE:
            log.error("an entry of the inbox cannot be read")
    return read


class JournalLedger:
    """Writes a turn's steps into its journal, fenced (``bot.agent.turn.Ledger``).

    Args:
        hear: makes what waits part of the conversation, and of the journal.
        review: decides about calls that act.
        spend: counts what a model response has cost.

    Raises:
        LeaseLost: another process owns the turn; nothing more may happen here.
        StoreUnavailable: the step is not on record, so the next one must not be taken.
    """

    def __init__(
        self,
        store: Store,
        lease: Lease,
        hear: Callable[[], Awaitable[TurnUpdate]],
        review: Callable[[ToolCall, Author, str], Awaitable[ApprovalDecision]],
        spend: Callable[[Spending], Awaitable[None]],
    ) -> None:
        self._store = store
        self._lease = lease
        self._hear = hear
        self._review = review
        self._spend = spend
        self._waiting = True  # as far as is known: the turn was begun a while ago

    async def said(self, message: Message, stop_reason: StopReason) -> None:
        if message.calls:  # without any the next step is the commit, which keeps the message itself
            await self._record(SAID, Said(message, stop_reason))

    async def spent(self, spending: Spending) -> None:
        await self._spend(spending)

    async def begun(self, call: ToolCall) -> None:
        await self._record(BEGUN, Begun(call.id))

    async def got(self, result: ToolResult) -> None:
        await self._record(RESULT, result)

    async def reviewed(self, call: ToolCall, asker: Author, words: str) -> ApprovalDecision:
        return await self._review(call, asker, words)

    async def heard(self, *, surely: bool) -> TurnUpdate:
        if not (self._waiting or surely):
            return TurnUpdate()
        self._waiting = False
        return await self._hear()

    async def _record(self, kind: str, step: Said | Begun | ToolResult) -> None:
        # Records of parallel results may return in any order: what one has seen, a later one does not undo.
        if await self._store.journal.record(self._lease, kind, encode(step)):
            self._waiting = True
