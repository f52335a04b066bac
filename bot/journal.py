"""What a turn writes down while it runs, and how it is read back after a crash."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import structlog
from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from bot.channels import Arrival
from bot.providers import StopReason
from bot.store import Lease, Store
from bot.store.entries import Entry
from bot.transcript import Message, ToolResult, decode_record, encode

log = structlog.stdlib.get_logger(__name__)

SAID, RESULT = "said", "result"


class Said(Struct, frozen=True):
    """A model response as the journal keeps it."""

    message: Message
    stop_reason: StopReason


decode_arrival = Decoder(Arrival).decode
decode_said = Decoder(Said).decode
decode_result = Decoder(ToolResult).decode


@dataclass(slots=True)
class Kept:
    """A journal read back: the arrivals, then responses and results in the order they were written."""

    arrivals: list[Arrival] = field(default_factory=list)
    steps: list[Said | ToolResult] = field(default_factory=list)


def read_entries(entries: Iterable[Entry]) -> Kept:
    """Decode a journal's entries."""
    kept = Kept()
    for entry in entries:
        if entry.kind == SAID:
            kept.steps.append(decode_said(entry.body))
        elif entry.kind == RESULT:
            kept.steps.append(decode_result(entry.body))
        else:
            kept.arrivals.append(decode_arrival(entry.body))
    return kept


def last_address(entries: Iterable[Entry]) -> str:
    """Where the newest arrival that can be read wants its answer; empty where none can."""
    address = ""
    for entry in entries:
        with suppress(DecodeError):
            address = decode_arrival(entry.body).address or address
    return address


def read_record(entry: bytes) -> tuple[Message, ...]:
    """The messages of one turn of the history; a turn that cannot be read is left out, and told to the log."""
    try:
        return decode_record(entry).messages
    except DecodeError as error:
        log.error("a turn of the history cannot be read", error=str(error))
        return ()


class JournalLedger:
    """Writes a turn's steps into its journal, fenced (``bot.turn.Ledger``).

    Raises:
        LeaseLost: another process owns the turn; nothing more may happen here.
        StoreUnavailable: the step is not on record, so the next one must not be taken.
    """

    def __init__(self, store: Store, lease: Lease) -> None:
        self._store = store
        self._lease = lease

    async def said(self, message: Message, stop_reason: StopReason) -> None:
        await self._store.journal.record(self._lease, SAID, encode(Said(message, stop_reason)))

    async def got(self, result: ToolResult) -> None:
        await self._store.journal.record(self._lease, RESULT, encode(result))
