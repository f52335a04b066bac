"""The history: one entry per turn, so that trimming never separates a tool call from its result.

A summary of the older turns is stored beside it; it replaces none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from bot.store.clients import Client, ask
from bot.store.keys import WORK_S, Keys
from bot.store.leases import Lease
from bot.store.queues import Command
from bot.store.scripts import Scripts

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

    def __init__(self, client: Client, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    async def read(self, conversation: str, turns: int) -> list[bytes]:
        """The newest ``turns`` entries (at least 1), oldest first."""
        key = Keys(conversation).history
        entries: list[bytes] = await ask(self._client, "LRANGE", key, -turns, -1)
        return entries

    async def recall(self, conversation: str, turns: int) -> StoredHistory:
        """The summary and the newest ``turns`` entries (at least 1), read in one script."""
        keys = Keys(conversation)
        commands = [("GET", keys.summary), ("LRANGE", keys.history, -turns, -1)]
        summary, entries = await self._scripts.transact_and_read(commands)
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
