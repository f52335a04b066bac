"""Records what turns do: facts of each, and words where they are kept.

What a model has answered, and how a turn ends, leaves with the request that records it: another
process sees no more of a turn than its trace has. The rest leaves a little later, with that of
other turns; of a process that is killed meanwhile it is missing.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count
from typing import Any

import structlog

from bot.clock import now_ms
from bot.errors import StoreUnavailable
from bot.features.traces.prompts import Prompts
from bot.features.traces.records import Share
from bot.features.traces.share import OpenShare, kept_id
from bot.features.traces.store import Change, Traces, keyed
from bot.store.keys import shard_of
from bot.telemetry.observed import Observe, ObservedStep
from bot.transcript import channel_of

log = structlog.stdlib.get_logger(__name__)

FLUSH_S = 0.5  # until what no step of the journal follows is sent
DELETE_S = 5.0  # until words are deleted that the store has not deleted
MOST_OPEN = 1_000  # turns of which a process remembers what it has done
OPEN_MS = 600_000  # after its end, for what comes late
MOST_NOTED = 1_000  # steps that wait for the key of the digests
NOT_KEPT = [-1]  # what the store answers about words


class Recorder:
    """Records the shares of turns that this process works on.

    Args:
        hours: for which words are kept; 0: not at all.
        place: the id of a conversation's place.
        version: of Kaiwa.

    Attributes:
        key: of the digests; empty until it has been read.
    """

    def __init__(
        self, traces: Traces, hours: Callable[[], int], place: Callable[[str], str], version: str
    ) -> None:
        self.key = b""
        self.prompts = Prompts(traces, hours)
        self._traces = traces
        self._hours = hours
        self._place = place
        self._version = version
        self._process, self._shares = secrets.token_hex(3), count()
        self._open: dict[str, OpenShare] = {}
        self._changed: dict[OpenShare, None] = {}  # of which something is still to be sent
        self._due: dict[OpenShare, None] = {}  # of which it leaves with the next request
        self._timer: asyncio.TimerHandle | None = None
        self._noted: deque[tuple[int, str, str, ObservedStep]] = deque(maxlen=MOST_NOTED)
        self._reading: asyncio.Future[list[Any]] | None = None
        self._deleting: set[asyncio.Task[None]] = set()

    def observer(self, conversation: str, turn: str) -> Observe:
        """What is told the steps of a turn (``Feature.observer``)."""
        if self.key:
            return self._share_of(conversation, turn, now_ms()).observe
        return partial(self._note, conversation, turn)

    def flush(self) -> None:
        """Send what has not been sent yet."""
        self._timer = None
        if self._changed:
            self._send(list(self._changed))

    async def aclose(self) -> None:
        """Send the rest, and end the deletions under way."""
        if self._noted:
            self._read_key()
        if self._reading is not None:
            await asyncio.wait([self._reading])
        await asyncio.gather(*self._deleting, return_exceptions=True)
        self.flush()

    def _note(self, conversation: str, turn: str, step: ObservedStep) -> None:
        """Keep a step for when the key of the digests is known."""
        if self.key:
            self.observer(conversation, turn)(step)
            return
        self._noted.append((now_ms(), conversation, turn, step))
        self._read_key()

    def _read_key(self) -> None:
        if self._reading is None:
            self._reading = self._traces.read_key_later()
            self._reading.add_done_callback(self._take_key)

    def _take_key(self, read: asyncio.Future[list[Any]]) -> None:
        self._reading = None
        if read.cancelled() or read.exception() is not None:
            return
        (replies,) = read.result()
        self.key = self._traces.known_key = bytes(replies[-1])
        while self._noted:
            at, conversation, turn, step = self._noted.popleft()
            self._share_of(conversation, turn, at).observe(step, at)

    def _share_of(self, conversation: str, turn: str, at: int) -> OpenShare:
        """What this process does of a turn; what comes long after its end is a share of its own."""
        share = self._open.pop(turn, None)
        if share is None or share.is_over(at - OPEN_MS):
            share = self._new_share(conversation, turn, at)
        while len(self._open) >= MOST_OPEN:
            del self._open[next(iter(self._open))]
        self._open[turn] = share
        return share

    def _new_share(self, conversation: str, turn: str, at: int) -> OpenShare:
        place, digest = self._place(conversation), keyed(self.key, conversation)
        state = Share(
            turn=kept_id(self.key, turn),
            share=f"{self._process}{next(self._shares):x}",
            at=at + self._traces.clock.ahead_ms,
            channel=channel_of(conversation),
            shard=shard_of(conversation),
            conversation=digest,
            place=digest if place == conversation else keyed(self.key, place),
            version=self._version,
        )
        return OpenShare(self, conversation, state, at, self._hours() > 0, state.at)

    # How it is sent (``bot.features.traces.share.Recording``):

    def send_soon(self, share: OpenShare) -> None:
        self._changed[share] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)

    def send_with_next(self, share: OpenShare) -> None:
        if not self._due:
            self._traces.before_next(self._send_due)
        self._due[share] = self._changed[share] = None

    def index(self, share: OpenShare, writer: str) -> None:
        """At once: a request that deletes the words may follow."""
        indexing = self._traces.index_later(writer, share.conversation, self._hours())
        self._unless_answered(indexing, [share], partial(share.writers.add, writer))

    def delete_soon(self, share: OpenShare) -> None:
        deleting = asyncio.create_task(self._delete_words(share))
        self._deleting.add(deleting)
        deleting.add_done_callback(self._deleting.discard)

    def _send_due(self) -> None:
        due, self._due = self._due, {}
        if left := [share for share in due if share in self._changed]:
            self._send(left)

    def _send(self, shares: Sequence[OpenShare]) -> None:
        """Send shares, with their words and acts."""
        changes: list[Change] = []
        for share in shares:
            self._changed.pop(share, None)
            if share.records or share.acts or share.writers:
                self._send_words_and_acts(share)
            changes.append(share.change())
        uncount = partial(_uncount, shares, changes)
        self._unless_answered(self._traces.note_later(changes), shares, uncount, uncount)

    def _send_words_and_acts(self, share: OpenShare) -> None:
        while share.writers:
            self.index(share, share.writers.pop())
        if share.records and share.words_at:
            words_at, records, hours = share.words_at, bytes(share.records), self._hours()
            adding = self._traces.add_words_later(
                share.conversation, share.state.turn, words_at, records, hours
            )
            take_back = partial(share.take_back, records, words_at)
            self._unless_answered(adding, [share], take_back, partial(share.refuse, len(records)))
            share.records.clear()
        for call, act in share.acts.items():
            keeping = self._traces.keep_act_later(act, call)
            self._unless_answered(keeping, [share], partial(share.acts.setdefault, call, act))
        share.acts.clear()

    def _unless_answered(
        self,
        sent: asyncio.Future[list[Any]],
        shares: Iterable[OpenShare],
        undo: Callable[[], object],
        refuse: Callable[[], object] = bool,
    ) -> None:
        """Have what was sent in a request without an answer sent again.

        Args:
            refuse: is called where the store does not keep it.
        """
        sent.add_done_callback(partial(self._check, shares, undo, refuse))

    def _check(
        self,
        shares: Iterable[OpenShare],
        undo: Callable[[], object],
        refuse: Callable[[], object],
        sent: asyncio.Future[list[Any]],
    ) -> None:
        if sent.cancelled():
            return
        if sent.exception() is None and sent.result() != NOT_KEPT:
            return
        if not self._traces.is_unanswered(sent):
            refuse()
            return
        undo()
        for share in shares:
            self.send_soon(share)

    async def _delete_words(self, share: OpenShare) -> None:
        try:
            deleted_at = await self._traces.delete_words(share.conversation)
        except StoreUnavailable as error:
            log.warning("traces.not_deleted", cause=str(error))
            asyncio.get_running_loop().call_later(DELETE_S, self.delete_soon, share)
        else:
            share.words_at = deleted_at + 1
            self.send_soon(share)


def _uncount(shares: Sequence[OpenShare], changes: Sequence[Change]) -> None:
    for share, change in zip(shares, changes, strict=True):
        share.uncount(change)
