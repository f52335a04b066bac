"""A reminder: as tools and people read it, and as the store keeps it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from bot.features.reminders.recurrence import BadRuleError, next_time
from bot.texts import Texts
from bot.transcript import UNREADABLE, Author

# one after the other: of a routine, then it rests; of deliveries of what repeats, then it ends
MAX_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Reminder:
    """Something that comes at its time.

    Attributes:
        at: the next time, in the zone of the person.
        repeat: RFC 5545 rule; empty: once.
        routine: its text is a task that is done at that time; otherwise the text is shown.
        rests: it has failed too often and does not come again.
        start: where a new reminder's rule begins, on the clock of the zone; it may name a time that
            the clock skips.
    """

    id: str
    text: str
    at: datetime
    repeat: str = ""
    routine: bool = False
    rests: bool = False
    start: datetime | None = None


class StoredReminder(Struct, frozen=True, omit_defaults=True):
    """A reminder in the store.

    Attributes:
        at: its next time, milliseconds since the epoch.
        start: its first time on the clock of the zone, ISO 8601 without a zone; the rule begins
            there.
        address: where the message that asked for it was to be answered.
        failures: of a routine, one after the other.
        refusals: of what repeats: how many of its times in a row the platform has refused to show.
        refused: id of the message of the last of these times.
    """

    text: str
    at: int
    zone: str
    author: Author
    address: str = ""
    group: bool = False
    repeat: str = ""
    start: str = ""
    routine: bool = False
    failures: int = 0
    refusals: int = 0
    refused: str = ""

    def next_after(self, ms: int) -> StoredReminder | None:
        """The reminder with its first time after a moment; None if it does not come again."""
        if not self.repeat:
            return None
        zone, start = ZoneInfo(self.zone), datetime.fromisoformat(self.start)
        try:
            at = next_time(self.repeat, start, zone, datetime.fromtimestamp(ms / 1000, UTC))
        except BadRuleError:
            return None
        return replace(self, at=ms_of(at)) if at else None


read_reminder = Decoder(StoredReminder).decode


def read_body(body: bytes) -> StoredReminder | None:
    """A stored reminder; None where it is gone or cannot be read."""
    try:
        return read_reminder(body)
    except UNREADABLE:
        return None


def shown(reminder_id: str, one: StoredReminder) -> Reminder:
    """A stored reminder on the clock of its person."""
    at = datetime.fromtimestamp(one.at / 1000, ZoneInfo(one.zone))
    rests = one.failures >= MAX_FAILURES
    return Reminder(reminder_id, one.text, at, one.repeat, one.routine, rests=rests)


def line_of(reminder: Reminder, texts: Texts, language: str) -> str:
    """A reminder in a list of reminders."""
    known = {"at": f"{reminder.at:%Y-%m-%d %H:%M}", "text": reminder.text, "rule": reminder.repeat}
    key = "resting" if reminder.rests else "repeated" if reminder.repeat else "once"
    return texts.get(f"reminder.{key}", language, **known)


def ms_of(at: datetime) -> int:
    """Milliseconds since the epoch."""
    return int(at.timestamp() * 1000)
