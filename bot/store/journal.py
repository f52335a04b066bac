"""Turns: the journal with the messages and steps of the one under way, from which another process
can continue it, and the history of the committed ones.

The history has one entry per turn, so that trimming never separates a tool call from its result. A
summary of the older turns is stored beside it; it replaces none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bot.store.clients import Scripts
from bot.store.keys import WORK_S, Entry, Keys, pack, unpack
from bot.store.leases import LEASE_MS, Lease
from bot.store.server import Command


class ShownQuestion(NamedTuple):
    """A question that has been delivered.

    Attributes:
        at: when, milliseconds since the epoch by the platform's clock.
        stored_at: the same by the store's clock.
    """

    question_id: str
    at: int
    stored_at: int


@dataclass(frozen=True, slots=True)
class JournalledTurn:
    """A turn, read from its journal.

    Attributes:
        starts: processes that began it and neither recorded a step nor released the lease; 1 for a
            new turn.
        entries: oldest first; those from the inbox keep their kind.
        not_before: after a failure, when to try again, milliseconds by the store's clock; else 0.
        is_resumed: it was begun before; the inbox may hold messages that wait for it.
        shown: its newest question that has been delivered.
        history: as much as was asked for.
        keeps: deliveries of the conversation are kept (``Outbox.keep_head``).
        is_reopened: it was committed before, under another id.
    """

    turn_id: str
    starts: int
    entries: list[Entry]
    not_before: int = 0
    is_resumed: bool = False
    shown: ShownQuestion | None = None
    history: StoredHistory | None = None
    keeps: bool = False
    is_reopened: bool = False


class Opened(NamedTuple):
    """A conversation whose lease was taken.

    Attributes:
        delivery: the head of the outbox, if it holds something.
        turn: else the unfinished turn, or one with all waiting messages; None where there are none.
    """

    lease: Lease
    delivery: bytes | None
    turn: JournalledTurn | None


class ReopenedTurn(NamedTuple):
    """A committed turn that goes on.

    Attributes:
        record: its entry in the history.
        journal: what it goes on from.
        given_back: the number of entries of the turn under way.
        is_summarised: the summary covers it, and is deleted too.
    """

    record: bytes
    journal: Sequence[Entry]
    given_back: int
    is_summarised: bool


class Failures(NamedTuple):
    """How often in a row a turn failed for one reason, and when (ms by the store's clock) to try
    again."""

    times: int
    retry_at: int


class Condition(NamedTuple):
    """When a commit is refused: the inbox holds a change of a message that the turn answers.

    Attributes:
        message_ids: of the messages that the turn answers.
        only_unsent: edits do not count, only messages taken back.
    """

    message_ids: Sequence[str] = ()
    only_unsent: bool = False


ALWAYS = Condition()


class Journal:
    """Turns under way. All methods are fenced: they raise ``LeaseLost`` where the lease is no
    longer held."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def open(
        self, conversation: str, turn_id: str, history_turns: int, ttl_ms: int = LEASE_MS
    ) -> Opened | None:
        """Take the lease of a conversation that is due, and begin its turn unless a delivery comes
        first.

        Args:
            turn_id: of a new turn; empty: begin none.

        Returns:
            None where somebody holds the lease, or has processed the conversation.
        """
        lease = Lease(conversation, ttl_ms)
        arguments = [conversation, lease.token, "due", ttl_ms, turn_id, history_turns]
        opened = await self._scripts.run("open", conversation, arguments)
        return None if opened is None else Opened(lease, opened[0], _read_turn(opened[1], turn_id))

    async def begin(
        self, lease: Lease, turn_id: str, history_turns: int = 0
    ) -> JournalledTurn | None:
        """Resume the unfinished turn, else start one with all waiting messages; None where there
        are none.

        An unfinished turn keeps its id and takes in no messages here: none may come between a call
        and its result.

        Args:
            history_turns: how many of the newest turns come with it; 0: no history.
        """
        arguments = [lease.conversation, lease.token, "begin", lease.ttl_ms, turn_id, history_turns]
        _, begun = await self._scripts.run("open", lease.conversation, arguments)
        return _read_turn(begun, turn_id)

    async def give_back(self, lease: Lease, count: int) -> None:
        """Put the newest entries of a turn without steps back to the front of the inbox."""
        keys = Keys(lease.conversation)
        moves = [("LMOVE", keys.journal, keys.inbox, "RIGHT", "LEFT")] * count
        lives = [("EXPIRE", key, WORK_S) for key in (keys.inbox, keys.of("turn"), keys.journal)]
        await self._scripts.transact([*moves, *lives], lease.conversation, lease.token)

    async def join(self, lease: Lease, frames: Sequence[bytes]) -> None:
        """Move entries from the inbox to the journal; not allowed between a call and its result."""
        arguments = [lease.token, "", "", "join", *frames]
        await self._scripts.run("record", lease.conversation, arguments)

    async def record(
        self,
        lease: Lease,
        kind: str,
        entry: bytes,
        *,
        sends: bytes = b"",
        answers: Sequence[bytes] = (),
    ) -> int:
        """Append one step; ``kind`` is one word.

        Args:
            sends: a delivery to add to the outbox.
            answers: frames of inbox entries that are done with this step.

        Returns:
            The number of entries in the inbox.
        """
        arguments = [lease.token, pack(kind, entry), sends, "", *answers]
        return int(await self._scripts.run("record", lease.conversation, arguments))

    async def dismiss(self, lease: Lease, entry: bytes, sends: bytes) -> None:
        """Answer an entry of the inbox with a delivery, without a step."""
        arguments = [lease.token, b"", sends, "", entry]
        await self._scripts.run("record", lease.conversation, arguments)

    async def read(self, conversation: str) -> list[Entry]:
        """The entries of the turn under way; needs no lease."""
        frames = await self._scripts.ask("LRANGE", Keys(conversation).journal, 0, -1)
        return [unpack(frame) for frame in frames]

    async def turn_id(self, conversation: str) -> str:
        """The id of the turn under way, empty if there is none; needs no lease."""
        turn_id = await self._scripts.ask("HGET", Keys(conversation).of("turn"), "id")
        return (turn_id or b"").decode()

    async def withdraw(
        self, lease: Lease, entries: Sequence[bytes], others: Sequence[Entry] | None = None
    ) -> None:
        """Remove entries from the inbox, and deliveries from the outbox and the kept ones.

        Args:
            others: unless None, also end the turn under way and put these back to the front of the
                inbox.
        """
        keys = Keys(lease.conversation)
        commands: list[Command] = []
        for entry in entries:
            lists = (keys.inbox, keys.outbox, keys.of("kept"))
            commands += [("LREM", one, 0, entry) for one in lists]
        # Edits whose messages have not come in may be among what is removed.
        commands.append(("DEL", keys.of("early")))
        if others is not None:
            commands += [("DEL", keys.of("turn")), ("DEL", keys.journal)]
            for other in reversed(others):
                commands.append(("LPUSH", keys.inbox, pack(*other)))
            commands.append(("EXPIRE", keys.inbox, WORK_S))
        await self._scripts.transact(commands, lease.conversation, lease.token)

    async def fail(self, lease: Lease, reason: str, rest_ms: int) -> Failures:
        """Count a failure of the turn.

        Args:
            rest_ms: time until the next try after the first failure for this reason; it doubles
                with each further one.
        """
        arguments = [lease.token, reason, rest_ms]
        times, retry_at = await self._scripts.run("fail", lease.conversation, arguments)
        return Failures(times, retry_at)

    async def commit(
        self,
        lease: Lease,
        history_entry: bytes | None,
        deliveries: Sequence[bytes],
        keep_turns: int,
        given_up: str = "",
        attempted: bytes = b"",
        unless: Condition = ALWAYS,
    ) -> bool:
        """End the turn: add its entry to the history and its deliveries to the outbox, delete the
        journal.

        Args:
            keep_turns: the newest turns the history keeps, at least 1.
            given_up: why the turn has no answer; its messages become a dead letter.
            attempted: the first delivery as attempted, to be stored in its place if it is the head
                of the outbox.
            unless: looked at in the same script.

        Returns:
            Whether these deliveries are the whole outbox.

        Raises:
            MessagesChanged: see ``unless``.
        """
        ids, counted = unless.message_ids, "unsent" if unless.only_unsent else "all"
        how = [keep_turns, history_entry or b"", given_up, attempted, counted, len(ids)]
        arguments = [lease.conversation, lease.token, *how, *ids, *deliveries]
        length = await self._scripts.run("commit", lease.conversation, arguments)
        return int(length) == len(deliveries)

    async def reopen(
        self,
        lease: Lease,
        turn_id: str,
        reopened: ReopenedTurn,
        undelivered: Sequence[bytes],
        sends: bytes = b"",
    ) -> None:
        """Go on with a committed turn; its entry in the history is deleted.

        The entries of the turn under way, which has no step, are put back to the front of the
        inbox.

        Args:
            turn_id: for what it does now, as ids of deliveries are made with it.
            undelivered: its deliveries, which are removed from the outbox and from those that
                are kept.
            sends: a delivery to add to the outbox.
        """
        keys = Keys(lease.conversation)
        turn = keys.of("turn")
        commands: list[Command] = [("LREM", keys.history, -1, reopened.record)]
        if reopened.is_summarised:
            commands.append(("DEL", keys.summary))
        for delivery in undelivered:
            commands += [("LREM", one, 1, delivery) for one in (keys.outbox, keys.of("kept"))]
        moves = [("LMOVE", keys.journal, keys.inbox, "RIGHT", "LEFT")] * reopened.given_back
        frames = [pack(*entry) for entry in reopened.journal]
        commands += [*moves, ("EXPIRE", keys.inbox, WORK_S)]
        commands += [("DEL", turn), ("HSET", turn, "id", turn_id, "reopened", 1)]
        commands += [("EXPIRE", turn, WORK_S), ("RPUSH", keys.journal, *frames)]
        commands.append(("EXPIRE", keys.journal, WORK_S))
        if sends:
            commands += [("RPUSH", keys.outbox, sends), ("EXPIRE", keys.outbox, WORK_S)]
        await self._scripts.transact(commands, lease.conversation, lease.token)


def _read_turn(begun: list[Any] | None, new_id: str) -> JournalledTurn | None:
    if begun is None:
        return None
    own_id, starts, frames, not_before, shown, reopened, summary, entries, keeps = begun
    at, _, rest = shown.decode().partition(" ")
    stored_at, _, question_id = rest.partition(" ")
    question = history = None
    if question_id:
        question = ShownQuestion(question_id, int(at), int(stored_at))
    if entries is not None:
        history = StoredHistory(summary or b"", entries)
    turn_id = own_id.decode()
    return JournalledTurn(
        turn_id,
        starts,
        list(map(unpack, frames)),
        not_before,
        is_resumed=turn_id != new_id,
        shown=question,
        history=history,
        keeps=bool(keeps),
        is_reopened=bool(reopened),
    )


# Kinds of keys that a deletion takes:
PURGED = ("history", "summary")
ERASED = (*PURGED, "early", "outbox", "kept")
WHOLE = (*ERASED, "inbox", "turn", "journal")


class StoredHistory(NamedTuple):
    """A conversation's summary and newest turns.

    Attributes:
        summary: of older turns, empty where there is none.
        entries: the newest turns, oldest first; some of them may be part of the summary.
    """

    summary: bytes
    entries: list[bytes]


class History:
    """Committed turns; ``Journal.commit`` adds them."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def read(self, conversation: str, turns: int) -> list[bytes]:
        """The newest ``turns`` entries (at least 1), oldest first."""
        key = Keys(conversation).history
        entries: list[bytes] = await self._scripts.ask("LRANGE", key, -turns, -1)
        return entries

    async def recall(self, conversation: str, turns: int) -> StoredHistory:
        """The summary and the newest ``turns`` entries (at least 1), read in one script."""
        keys = Keys(conversation)
        commands = [("GET", keys.summary), ("LRANGE", keys.history, -turns, -1)]
        summary, entries = await self._scripts.transact(commands, is_read=True)
        return StoredHistory(summary or b"", entries)

    async def summarise(self, lease: Lease, summary: bytes) -> None:
        """Replace the summary.

        Raises:
            LeaseLost: nothing was changed.
        """
        key = Keys(lease.conversation).summary
        set_it = ("SET", key, summary, "EX", self._scripts.history_s)
        await self._scripts.transact([set_it], lease.conversation, lease.token)

    async def rewrite(
        self, lease: Lease, changes: Mapping[bytes, bytes], *, stale: bool = False
    ) -> None:
        """Replace entries (old → new); an empty new one deletes the old.

        Args:
            stale: also delete the summary, which covers a changed entry.

        Raises:
            LeaseLost: nothing was changed.
        """
        arguments: list[Any] = [lease.token, "stale" if stale else ""]
        for old, new in changes.items():
            arguments += (old, new)
        await self._scripts.run("rewrite", lease.conversation, arguments)

    async def purge(self, lease: Lease, kinds: Collection[str] = ()) -> None:
        """Delete history and summary; inbox, journal and outbox stay.

        Args:
            kinds: of other keys of the conversation that go too.

        Raises:
            LeaseLost: nothing was deleted.
        """
        await self._delete(lease, (*PURGED, *sorted(kinds)))

    async def erase(
        self,
        lease: Lease,
        sends: Sequence[bytes] = (),
        kinds: Collection[str] = (),
        *,
        whole: bool,
    ) -> None:
        """Delete history, summary and outbox.

        Args:
            sends: deliveries that the outbox then holds.
            kinds: of other keys of the conversation that go too.
            whole: also inbox and journal.

        Raises:
            LeaseLost: nothing was deleted.
        """
        await self._delete(lease, (*(WHOLE if whole else ERASED), *sorted(kinds)), sends)

    async def _delete(
        self, lease: Lease, kinds: Sequence[str], sends: Sequence[bytes] = ()
    ) -> None:
        keys = Keys(lease.conversation)
        commands: list[Command] = [("DEL", keys.of(kind)) for kind in kinds]
        if sends:
            commands += [("RPUSH", keys.outbox, *sends), ("EXPIRE", keys.outbox, WORK_S)]
        await self._scripts.transact(commands, lease.conversation, lease.token)
