"""What a turn writes down while it runs, and how it is read back after a crash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import structlog
from msgspec import Struct
from msgspec.json import Decoder

from bot.albums import gathered
from bot.channels import Arrival
from bot.providers import StopReason
from bot.store import Lease, Store
from bot.store.entries import Entry
from bot.transcript import UNREADABLE, Message, ToolCall, ToolResult, decode_record, encode
from bot.turn import Heard

log = structlog.stdlib.get_logger(__name__)

SAID, RESULT, BEGUN = "said", "result", "begun"


class Said(Struct, frozen=True):
    """A model response as the journal keeps it."""

    message: Message
    stop_reason: StopReason


class Begun(Struct, frozen=True):
    """A call that must not be made twice, noted right before it is made."""

    call_id: str


decode_arrival = Decoder(Arrival).decode
decode_said = Decoder(Said).decode
decode_result = Decoder(ToolResult).decode
decode_begun = Decoder(Begun).decode

Step = Said | ToolResult | Begun | Arrival  # an arrival that has joined the turn between two steps


@dataclass(slots=True)
class Kept:
    """A journal read back: what the turn began with, then everything else in the order it was written."""

    arrivals: list[Arrival] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def read_entries(entries: Iterable[Entry]) -> Kept:
    """Decode a journal's entries."""
    kept = Kept()
    for entry in entries:
        if entry.kind == SAID:
            kept.steps.append(decode_said(entry.body))
        elif entry.kind == RESULT:
            kept.steps.append(decode_result(entry.body))
        elif entry.kind == BEGUN:
            kept.steps.append(decode_begun(entry.body))
        elif kept.steps:
            kept.steps.append(decode_arrival(entry.body))
        else:
            kept.arrivals.append(decode_arrival(entry.body))
    return kept


def readable_arrivals(entries: Iterable[Entry]) -> list[Arrival]:
    """What the turn has taken in, as far as it can be read."""
    arrivals = []
    for entry in entries:
        if entry.kind not in (SAID, RESULT, BEGUN):
            with suppress(*UNREADABLE):
                arrivals.append(decode_arrival(entry.body))
    return arrivals


def read_record(entry: bytes) -> tuple[Message, ...]:
    """The messages of one turn of the history; a turn that cannot be read is left out, and told to the log."""
    try:
        return decode_record(entry).messages
    except UNREADABLE as error:
        log.error("a turn of the history cannot be read", error=str(error))
        return ()


class JournalLedger:
    """Writes a turn's steps into its journal, fenced (``bot.turn.Ledger``).

    Args:
        receive: makes arrivals part of the conversation.
        waiting: something is in the inbox already.

    Raises:
        LeaseLost: another process owns the turn; nothing more may happen here.
        StoreUnavailable: the step is not on record, so the next one must not be taken.
    """

    def __init__(
        self, store: Store, lease: Lease, receive: Callable[[list[Arrival]], Awaitable[Heard]], *, waiting: bool
    ) -> None:
        self._store = store
        self._lease = lease
        self._receive = receive
        self._waiting = waiting

    async def said(self, message: Message, stop_reason: StopReason) -> None:
        await self._record(SAID, Said(message, stop_reason))

    async def begun(self, call: ToolCall) -> None:
        await self._record(BEGUN, Begun(call.id))

    async def got(self, result: ToolResult) -> None:
        await self._record(RESULT, result)

    async def heard(self) -> Heard:
        if not self._waiting:
            return Heard()
        self._waiting = False
        join = partial(joined, self._store, self._lease)
        return await self._receive(await gathered(await join(), join))

    async def _record(self, kind: str, step: Said | Begun | ToolResult) -> None:
        # Records of parallel results may return in any order: what one has seen, a later one does not undo.
        if await self._store.journal.record(self._lease, kind, encode(step)):
            self._waiting = True


async def joined(store: Store, lease: Lease) -> list[Arrival]:
    """What has arrived since the turn began and may join it, on record as its own."""
    return [decode_arrival(entry) for entry in await store.journal.join(lease)]
