"""The history as it is read: turns, and the summary of the older ones."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from bot.store import Recalled
from bot.transcript import UNREADABLE, Summary, TurnRecord, decode_record, decode_summary

log = structlog.stdlib.get_logger(__name__)


Kept = tuple[bytes, TurnRecord]  # an entry, and what it says


@dataclass(frozen=True, slots=True)
class Turns:
    """What is known of a conversation, oldest first.

    Attributes:
        summary: of all turns up to a certain one.
        told: the turns of which it tells, as far as they are at hand.
        since: the others.
    """

    summary: Summary | None
    told: list[Kept]
    since: list[Kept]


def read_turns(recalled: Recalled) -> Turns:
    """Read what was recalled. A turn that the summary ends with and that is gone was older than all others."""
    summary = _read_summary(recalled.summary)
    turns = [(entry, read_record(entry)) for entry in recalled.entries]
    places = (place for place, (_, record) in enumerate(turns, 1) if summary and record.turn_id == summary.through)
    since = next(places, 0)
    return Turns(summary, turns[:since], turns[since:])


def read_record(entry: bytes) -> TurnRecord:
    """One turn of the history; one that cannot be read is empty, and told to the log."""
    try:
        return decode_record(entry)
    except UNREADABLE as error:
        log.error("history.turn_unreadable", cause=type(error).__name__)
        return TurnRecord("", 0, "", ())


def _read_summary(data: bytes) -> Summary | None:
    try:
        return decode_summary(data) if data else None
    except UNREADABLE as error:
        log.error("history.summary_unreadable", cause=type(error).__name__)
        return None
