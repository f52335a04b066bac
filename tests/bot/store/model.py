"""What must be true of one conversation in the store, as plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.store import JournalledTurn, ReopenedTurn
from bot.store.keys import ARRIVAL, ASIDE, CHANGE, CONTROL, Entry

KINDS = (ARRIVAL, CHANGE, ASIDE, CONTROL)


@dataclass(frozen=True, slots=True)
class Span:
    """A moment of the store's clock, known as well as it can be from outside: milliseconds, from
    and to."""

    start: int
    end: int

    def later(self, ms: int) -> Span:
        return Span(self.start + ms, self.end + ms)

    def has(self, moment: float) -> bool:
        return self.start <= moment <= self.end


@dataclass(slots=True)
class Turn:
    """A turn under way."""

    id: str
    entries: list[Entry]
    starts: int = 0
    refused_at: int = 0
    reason: str = ""
    failures: int = 0
    retry_at: int = 0
    is_reopened: bool = False

    @property
    def has_steps(self) -> bool:
        return any(entry.kind not in KINDS for entry in self.entries)


@dataclass(slots=True)
class Letter:
    """A dead letter: a delivery, or what a turn had taken in."""

    reason: str
    delivery: bytes | None = None
    entries: list[Entry] = field(default_factory=list)


@dataclass(slots=True)
class Model:
    """A conversation as it should be.

    Attributes:
        taken_in: every message so far, by its id.
        token: of the newest lease, which is in force where ``held``.
        ends: when that lease is over.
        due: when somebody shall process; None: never.
        answered: what committed turns had taken in, and what was dealt with beside a turn.
        posted: ids of notices.
    """

    taken_in: dict[str, Entry] = field(default_factory=dict)
    inbox: list[Entry] = field(default_factory=list)
    turn: Turn | None = None
    history: list[bytes] = field(default_factory=list)
    summary: bytes = b""
    outbox: list[bytes] = field(default_factory=list)
    dead: list[Letter] = field(default_factory=list)
    token: str = ""
    held: bool = False
    ends: Span = Span(0, 0)
    due: Span | None = None
    answered: list[Entry] = field(default_factory=list)
    posted: set[str] = field(default_factory=set)

    @property
    def journal(self) -> list[Entry]:
        return self.turn.entries if self.turn else []

    @property
    def has_work(self) -> bool:
        return bool(self.inbox or self.turn or self.outbox)

    @property
    def stored(self) -> list[Entry]:
        """Whatever was taken in, from wherever it is now."""
        buried = [entry for letter in self.dead for entry in letter.entries]
        return [*self.inbox, *_taken_in(self.journal), *self.answered, *buried]

    def accept(self, message_id: str, entry: Entry, now: Span) -> None:
        self.taken_in[message_id] = entry
        self.inbox.append(entry)
        if not self.held:
            self.due = now

    def acquire(self, token: str, ends: Span) -> None:
        self.token, self.held = token, True
        self.renew(ends)

    def renew(self, ends: Span) -> None:
        self.ends = self.due = ends

    def release(self, now: Span, retry_at: int | None, known: int) -> bool:
        """Whether more waits than is known to."""
        self.held = False
        if self.turn:
            self.turn.starts = max(self.turn.starts - 1, 0)
        waits = len(self.inbox) > known
        if not self.has_work:
            self.due = None
        elif retry_at is None or waits:
            self.due = now
        else:
            self.due = Span(retry_at, retry_at)
        return waits

    def begin(self, turn_id: str, now: Span) -> JournalledTurn | None:
        if self.turn is None:
            if not self.inbox:
                return None
            self.turn, self.inbox = Turn(turn_id, self.inbox), []
        turn = self.turn
        turn.starts += 1
        rests = turn.retry_at if turn.retry_at > now.end else 0
        return JournalledTurn(
            turn.id,
            turn.starts,
            list(turn.entries),
            rests,
            turn.id != turn_id,
            is_reopened=turn.is_reopened,
        )

    def give_back(self, count: int) -> None:
        stored = len(self.journal) - count
        self.inbox = [*self.journal[stored:], *self.inbox]
        del self.journal[stored:]

    def join(self, joining: list[Entry]) -> None:
        self._take_out(joining)
        self.journal.extend(joining)

    def record(self, entry: Entry, delivery: bytes, answered: list[Entry]) -> int:
        """How much waits."""
        if self.turn:
            self.turn.entries.append(entry)
            self.turn.starts = 0
        if delivery:
            self.outbox.append(delivery)
        self._take_out(answered)
        self.answered += answered
        return len(self.inbox)

    def dismiss(self, delivery: bytes, answered: list[Entry]) -> None:
        self.outbox.append(delivery)
        self._take_out(answered)
        self.answered += answered

    def post(self, notice_id: str, notice: bytes, now: Span) -> bool:
        """Whether it is new."""
        if notice_id in self.posted:
            return False
        self.posted.add(notice_id)
        self.outbox.append(notice)
        self.due = now
        return True

    def _take_out(self, entries: list[Entry]) -> None:
        self.inbox = [entry for entry in self.inbox if entry not in entries]

    def is_changed(self, message_ids: list[str], *, only_unsent: bool) -> bool:
        """Whether one of these messages is edited or taken back by something that waits."""
        changes = [entry.body for entry in self.inbox if entry.kind == CHANGE]
        if only_unsent:
            changes = [body for body in changes if b'"event":"unsent"' in body]
        return any(
            b'"target":"%b"' % one.encode() in body for one in message_ids for body in changes
        )

    def refuse(self) -> None:
        """A restart counts as a start unless the journal has grown since the last one."""
        assert self.turn is not None
        if len(self.turn.entries) > self.turn.refused_at:
            self.turn.starts, self.turn.refused_at = 0, len(self.turn.entries)

    def commit(
        self, turn: Turn, entry: bytes | None, deliveries: list[bytes], keep: int, given_up: str
    ) -> None:
        taken_in = _taken_in(turn.entries)
        if given_up:
            self.dead.append(Letter(given_up, entries=taken_in))
        else:
            self.answered += taken_in
        if entry:
            self.history = [*self.history, entry][-keep:]
        self.outbox += deliveries
        self.turn = None

    def reopen(
        self, new_id: str, reopened: ReopenedTurn, undelivered: list[bytes], delivery: bytes
    ) -> None:
        self.history.remove(reopened.record)
        self.summary = b"" if reopened.is_summarised else self.summary
        self.inbox = [*self.journal, *self.inbox]
        self.turn = Turn(new_id, list(reopened.journal), is_reopened=True)
        for one in undelivered:
            self.outbox.remove(one)
        if delivery:
            self.outbox.append(delivery)

    def revive(self, letter: Letter, delivery: bytes, now: Span) -> None:
        self.dead.remove(letter)
        if letter.delivery is not None:
            self.outbox.append(delivery or letter.delivery)
        self.inbox += letter.entries
        self.due = now

    def rewrite(self, changes: dict[bytes, bytes], *, stale: bool) -> None:
        self.summary = b"" if stale else self.summary
        rewritten = [changes.get(entry, entry) for entry in self.history]
        self.history = [entry for entry in rewritten if entry]


def fail(turn: Turn, reason: str) -> int:
    """How often in a row the turn has failed for this reason."""
    turn.failures = turn.failures + 1 if turn.reason == reason else 1
    turn.reason = reason
    return turn.failures


def _taken_in(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.kind in KINDS]
