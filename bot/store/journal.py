"""The journal: what a turn has taken in and done so far, so that another process can go on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from bot.store.clients import Client
from bot.store.connection import translate_errors
from bot.store.frames import Entry, pack, unpack
from bot.store.keys import Keys
from bot.store.leases import Lease
from bot.store.scripts import Scripts


class Shown(NamedTuple):
    """A question that a person can have read.

    Attributes:
        at: since when, milliseconds since the epoch by the platform's clock.
        stored_at: the same by the store's.
    """

    question_id: str
    at: int
    stored_at: int


@dataclass(frozen=True, slots=True)
class JournalledTurn:
    """A turn as its journal tells it.

    Attributes:
        starts: how often it was begun and not given back since something was last recorded; 1 for a new turn.
        entries: oldest first; what came from the inbox keeps its kind.
        not_before: it has failed and rests until then, milliseconds of the store's clock; 0 where it does not.
        shown: its newest question that has been delivered.
    """

    turn_id: str
    starts: int
    entries: list[Entry]
    not_before: int = 0
    shown: Shown | None = None


class Failures(NamedTuple):
    """How often in a row a turn could not go on for one reason, and until when (ms of the store's clock) it rests."""

    times: int
    retry_at: int


class Journal:
    """Turns under way. All methods are fenced: they raise ``LeaseLost`` where the lease is no longer held."""

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def begin(self, lease: Lease, turn_id: str) -> JournalledTurn | None:
        """Go on with the turn that was left, else open one with all messages that wait; None where none do.

        A turn that was left keeps its own id and takes nothing in here: between a call and its result there is no
        place for a message.
        """
        begun = await self._scripts.run("begin", lease.conversation, lease.token, turn_id)
        if begun is None:
            return None
        own_id, starts, frames, not_before, shown = begun
        at, _, rest = shown.decode().partition(" ")
        stored_at, _, question_id = rest.partition(" ")
        question = Shown(question_id, int(at), int(stored_at)) if question_id else None
        return JournalledTurn(own_id.decode(), starts, [unpack(frame) for frame in frames], not_before, question)

    async def give_back(self, lease: Lease, count: int) -> None:
        """Put the newest entries of a turn that has taken no step yet back into the inbox, before all that waits."""
        await self._scripts.run("give_back", lease.conversation, lease.token, count)

    async def join(self, lease: Lease, frames: Sequence[bytes]) -> None:
        """Move entries from the inbox into the journal. Not between a call and its result."""
        await self._scripts.run("join", lease.conversation, lease.token, *frames)

    async def record(
        self, lease: Lease, kind: str, entry: bytes, *, sends: bytes = b"", answers: Sequence[bytes] = ()
    ) -> int:
        """Append one step; ``kind`` is one word.

        Args:
            sends: a delivery that leaves with it.
            answers: entries of the inbox that are dealt with by it, as frames.

        Returns:
            How many entries wait in the inbox.
        """
        return await self._append(lease, pack(kind, "", entry), sends, answers)

    async def dismiss(self, lease: Lease, entry: bytes, sends: bytes) -> None:
        """Answer an entry of the inbox with a delivery and nothing else."""
        await self._append(lease, b"", sends, (entry,))

    async def read(self, conversation: str) -> list[Entry]:
        """The turn under way as it stands, for somebody who only looks."""
        async with translate_errors():
            frames = cast("list[bytes]", await self._client.lrange(Keys(conversation).journal, 0, -1))
        return [unpack(frame) for frame in frames]

    async def withdraw(self, lease: Lease, entries: Sequence[bytes], others: Sequence[Entry] | None = None) -> None:
        """Take entries out of the inbox and deliveries out of the outbox.

        Args:
            others: given, the turn under way is given up, and these wait in the inbox again, for another one.
        """
        frames = [pack(entry.kind, "", entry.body) for entry in others or ()]
        ends = "no" if others is None else "yes"
        await self._scripts.run("withdraw", lease.conversation, lease.token, ends, len(entries), *entries, *frames)

    async def _append(self, lease: Lease, frame: bytes, sends: bytes, answers: Sequence[bytes]) -> int:
        return int(await self._scripts.run("record", lease.conversation, lease.token, frame, sends, *answers))

    async def fail(self, lease: Lease, reason: str, rest_ms: int) -> Failures:
        """Note that the turn could not go on.

        Args:
            rest_ms: how long it rests after the first failure for this reason; twice as long after each further one.
        """
        return Failures(*await self._scripts.run("fail", lease.conversation, lease.token, reason, rest_ms))

    async def commit(
        self,
        lease: Lease,
        history_entry: bytes | None,
        deliveries: Sequence[bytes],
        keep_turns: int,
        given_up: str = "",
    ) -> None:
        """End the turn: its entry goes to the history, its deliveries to the outbox, its journal goes.

        Args:
            keep_turns: the newest turns the history keeps, at least 1.
            given_up: why the turn has no answer; what it had taken in goes to the dead letters.
        """
        await self._scripts.run(
            "commit", lease.conversation, lease.token, keep_turns, history_entry or b"", given_up, *deliveries
        )
