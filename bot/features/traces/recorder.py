"""Records what turns do: facts of each, and words where they are kept.

A step is only noted when it is observed. What is kept of it is made when the next request to the
store leaves, and leaves with it: so whatever another process can see of a turn, its trace has too;
what a process did after that and did not record is missing.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog
from msgspec.structs import replace

from bot import log as logging
from bot.clock import now_ms
from bot.errors import StoreUnavailable
from bot.features.traces.prompts import Prompts
from bot.features.traces.records import AFTERWARDS, Act, Fact, Share, Words, encode, pack_words
from bot.features.traces.store import TURN_BYTES, Change, Traces, keyed
from bot.store.keys import person_of, shard_of
from bot.telemetry.observed import (
    AttemptFailed,
    CallDecided,
    CallEnded,
    DeliveryBegun,
    EventTaken,
    Measured,
    ObservedStep,
    PersonaChosen,
    Rated,
    RequestSent,
    ResponseRead,
    ShareBegun,
    ShareEnded,
    ShareFailed,
)
from bot.transcript import channel_of

log = structlog.stdlib.get_logger(__name__)

FLUSH_S = 0.5  # until what no step of the journal follows is sent
DELETE_S = 5.0  # until words are deleted that the store has not deleted
MOST_OPEN = 1_000  # turns of which a process remembers what it has done
OPEN_MS = 600_000  # after its end, for what comes late
MOST_NOTED = 1_000  # steps of which nothing is made yet: the store has not answered so far
MOST_FACTS = 400  # of a share
# Ids that Kaiwa makes; others, as of a press, may hold those of a platform.
OWN = re.compile(r"(turn|reply|notice|question)_[0-9a-f]{1,32}(_\d{1,3}|_back|_settled)?")
CHANGES = ("edited", "unsent")
NOT_KEPT = [-1]  # what the store answers about words
UNKNOWN = "unknown"  # a tool that does not exist; the model may have written anything


@dataclass(slots=True)
class OpenShare:
    """A share of a turn while this process works on it.

    Attributes:
        state: of the share, as the store gets it.
        records: words that are still to be sent.
        counted, counted_words: bytes of facts and of words that were sent.
        changed: something is still to be sent.
        due: it is sent now, as the request that leaves may show the turn to others.
        events: ids of events and their uses that have been noted.
        writers: of words, under whom the store has not indexed the conversation.
        decided: by call.
        acts: that are still to be sent, by call.
        begun: the number of the fact of a delivery that has begun.
        asked_at: by model, when its last request was sent, milliseconds since the share began.
    """

    conversation: str
    state: Share
    records: bytearray = field(default_factory=bytearray)
    counted: int = 0
    counted_words: int = 0
    changed: bool = False
    due: bool = False
    events: set[tuple[str, str]] = field(default_factory=set)
    writers: set[str] = field(default_factory=set)
    decided: dict[str, CallDecided] = field(default_factory=dict)
    acts: dict[str, Act] = field(default_factory=dict)
    begun: int | None = None
    asked_at: dict[str, int] = field(default_factory=dict)

    def take_back(self, records: bytes) -> None:
        """Records of words that are to be sent once more."""
        self.records[:0] = records

    def refuse(self, count: int) -> None:
        """Bytes of words that the store did not keep."""
        self.state.refused += count
        self.changed = True


class Recorder:
    """Observes turns (``Feature.observe``).

    Args:
        hours: for which words are kept; 0: not at all.
        place: the id of a conversation's place.
        version: of Kaiwa.
    """

    def __init__(
        self, traces: Traces, hours: Callable[[], int], place: Callable[[str], str], version: str
    ) -> None:
        self._traces = traces
        self._hours = hours
        self._place = place
        self._version = version
        self._noted: deque[tuple[int, str, str, ObservedStep]] = deque(maxlen=MOST_NOTED)
        self._is_awaited = False  # a request to the store, with which something leaves
        self._open: dict[str, OpenShare] = {}
        self._key = b""
        self._reading: asyncio.Future[list[Any]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._prompts = Prompts(traces, hours)
        self._deleting: set[asyncio.Task[None]] = set()
        self._takes: Mapping[type[Any], Callable[[OpenShare, Any, int], None]] = {
            EventTaken: self._event,
            PersonaChosen: self._persona,
            RequestSent: self._request,
            ResponseRead: self._response,
            AttemptFailed: self._failure,
            CallDecided: self._decision,
            CallEnded: self._call,
            DeliveryBegun: self._delivery,
            Measured: self._measured,
            Rated: self._rating,
            ShareBegun: self._share_begun,
            ShareFailed: self._share_failed,
            ShareEnded: self._share_ended,
        }

    def observe(self, conversation: str, turn: str, step: ObservedStep) -> None:
        """See ``Feature.observe``."""
        if len(self._noted) == MOST_NOTED and self._key:
            self._take_steps()
        self._noted.append((now_ms(), conversation, turn, step))
        if not self._is_awaited:
            self._is_awaited = True
            self._traces.before_next(self._take_steps)

    def flush(self) -> None:
        """Send what has not been sent yet."""
        self._timer = None
        self._take_steps()
        if changed := [share for share in self._open.values() if share.changed]:
            self._send(changed)

    async def aclose(self) -> None:
        """Send the rest, and end the deletions under way."""
        self._take_steps()
        if self._reading is not None:
            await asyncio.wait([self._reading])
        self.flush()
        await asyncio.gather(*self._deleting, return_exceptions=True)

    def _take_steps(self) -> None:
        """Make of the steps what is kept of them, and send what must not come later than the
        request that leaves."""
        self._is_awaited = False
        if not self._key:
            self._read_key()
            return
        touched: dict[str, OpenShare] = {}
        ahead = self._traces.clock.ahead_ms
        while self._noted:
            noted_at, conversation, turn, step = self._noted.popleft()
            if (take := self._takes.get(type(step))) is None:
                continue
            at = noted_at + ahead
            if (share := touched.get(turn)) is None:
                share = touched[turn] = self._share_of(conversation, turn, at)
            try:
                take(share, step, at - share.state.at)
            except Exception:
                log.exception("observer.failed", step=type(step).__name__)
        if due := [share for share in touched.values() if share.due]:
            self._send(due)
        if any(share.changed for share in touched.values()):
            self._start_timer()

    def _start_timer(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)

    def _read_key(self) -> None:
        """Have the key of the digests read; until then all steps wait."""
        if self._reading is None:
            self._reading = self._traces.read_key_later()
            self._reading.add_done_callback(self._take_key)

    def _take_key(self, read: asyncio.Future[list[Any]]) -> None:
        self._reading = None
        if not read.cancelled() and read.exception() is None:
            (replies,) = read.result()
            self._key = self._traces.known_key = bytes(replies[-1])
            self._take_steps()

    def _share_of(self, conversation: str, turn: str, at: int) -> OpenShare:
        """What this process does of a turn; what comes long after its end is a share of its own."""
        share = self._open.pop(turn, None)
        if share is None or _is_over(share.state, at):
            share = OpenShare(conversation, self._new_share(conversation, turn, at))
        while len(self._open) >= MOST_OPEN:
            del self._open[next(iter(self._open))]
        self._open[turn] = share
        return share

    def _new_share(self, conversation: str, turn: str, at: int) -> Share:
        return Share(
            turn=self._id(turn),
            share=secrets.token_hex(3),
            at=at,
            channel=channel_of(conversation),
            shard=shard_of(conversation),
            conversation=keyed(self._key, conversation),
            place=keyed(self._key, self._place(conversation)),
            version=self._version,
        )

    # What is made of each step, so many milliseconds after the share began:

    def _event(self, share: OpenShare, step: EventTaken, at: int) -> None:
        message = step.message
        if (message.id, step.use) in share.events:
            return  # a turn that begins again goes through its events again
        share.events.add((message.id, step.use))
        author = message.author
        who = author.id if author else ""
        person = self._person(share, who)
        share.state.person = share.state.person or person
        text = message.text
        words = self._words(share, text=text, who=author.name if author else "")
        if words and who:
            self._index(share, person_of(share.conversation, who))
        if words and not share.state.facts:
            words.conversation = share.conversation
        size = len(text.encode())
        self._add(share, Fact("event", at, step.kind, step.use, size=size, person=person), words)
        if step.kind in CHANGES:
            self._delete_soon(share.conversation)

    def _persona(self, share: OpenShare, step: PersonaChosen, at: int) -> None:
        share.state.persona = step.persona

    def _request(self, share: OpenShare, step: RequestSent, at: int) -> None:
        share.asked_at[step.model] = at
        size = 0
        for place, piece in enumerate(step.pieces):
            size += -(-len(piece) // 3) * 4 if place % 2 else len(piece)  # files leave as base64
        words = self._words(share)
        if words:
            words.pieces = self._prompts.pieces(step.pieces)
            if step.cached:
                words.cached = self._prompts.keep(step.cached)
        self._add(share, Fact("request", at, step.model, size=size), words)

    def _response(self, share: OpenShare, step: ResponseRead, at: int) -> None:
        words = self._words(share, text=step.detail)
        if words:
            events = logging.bytes_without_secrets(b"\n".join(step.events))
            words.pieces = (("json", events),)
        asked = step.asked if step.asked != step.model else ""
        ms = at - share.asked_at.get(asked or step.model, at)
        size = sum(map(len, step.events)) + len(step.events) - 1  # a line each
        reason, usage = step.stop_reason, step.usage
        fact = Fact("response", at, step.model, reason, ms, size, usage=usage, asked=asked)
        self._add(share, fact, words)
        share.due = True  # what is recorded of the response follows

    def _failure(self, share: OpenShare, step: AttemptFailed, at: int) -> None:
        wait_ms, following = round(step.wait_s * 1000), step.next_model
        fact = Fact("failure", at, step.model, step.failure, next=following, wait_ms=wait_ms)
        self._add(share, fact, self._words(share, text=step.cause))

    def _decision(self, share: OpenShare, step: CallDecided, at: int) -> None:
        share.decided[step.call.id] = step
        outcome, by = "approved" if step.approved else "rejected", self._person(share, step.by)
        fact = Fact("decision", at, step.call.name, outcome, id=step.call.id, person=by)
        self._add(share, fact, self._words(share, text=step.reason))

    def _call(self, share: OpenShare, step: CallEnded, at: int) -> None:
        call, result = step.call, step.result
        response = encode(result.response)
        name = call.name if step.risk else UNKNOWN
        words = self._words(share, text=call.reason, who="" if step.risk else call.name)
        if words:
            words.arguments = logging.bytes_without_secrets(encode(call.arguments))
            words.result = logging.bytes_without_secrets(response)
            if step.made.arguments != call.arguments:
                words.made = logging.bytes_without_secrets(encode(step.made.arguments))
        outcome, ms, size = result.outcome, step.ms, len(response)
        fact = Fact("call", at, name, outcome, ms, size, id=call.id, risk=step.risk)
        self._add(share, fact, words)
        if step.risk == "high" or call.id in share.decided:
            share.acts[call.id] = self._act(share, share.state.at + at, step)
            share.due = True

    def _delivery(self, share: OpenShare, step: DeliveryBegun, at: int) -> None:
        share.begun = len(share.state.facts)
        size, name = len(step.text.encode()), self._id(step.delivery_id)
        words = self._words(share, text=step.text)
        self._add(share, Fact("delivery", at, size=size, id=name), words)

    def _measured(self, share: OpenShare, step: Measured, at: int) -> None:
        """Turns and deliveries; what a model or a tool has taken stands with its own step."""
        if step.kind == "turn":
            share.state.outcome, share.state.ms, share.state.left = step.outcome, at, ""
            share.changed = True
        elif step.kind == "delivery" and share.begun is not None:
            facts = share.state.facts
            if share.begun < len(facts):
                fact = facts[share.begun]
                ended = replace(fact, name=step.name, outcome=step.outcome, ms=step.ms)
                facts[share.begun] = ended
            share.begun = None
            share.due = True  # the request that takes it from the outbox follows

    def _rating(self, share: OpenShare, step: Rated, at: int) -> None:
        outcome, by = "good" if step.is_good else "bad", self._person(share, step.by)
        self._add(share, Fact("rating", at, outcome=outcome, person=by))

    def _share_begun(self, share: OpenShare, step: ShareBegun, at: int) -> None:
        share.state.resumed = share.state.resumed or step.is_resumed

    def _share_failed(self, share: OpenShare, step: ShareFailed, at: int) -> None:
        if step.outcome == "given_up":
            share.state.outcome, share.state.ms = "failed", at
        fact = Fact("failure", at, outcome=step.outcome)
        self._add(share, fact, self._words(share, text=step.cause))

    def _share_ended(self, share: OpenShare, step: ShareEnded, at: int) -> None:
        """Of a turn that is left as it is, what was done is sent with its lease's release."""
        state = share.state
        if step.cause and state.facts and (share.changed or state.left != step.cause):
            state.left = step.cause
            share.changed = share.due = True

    # How it is sent:

    def _words(self, share: OpenShare, *, text: str = "", who: str = "") -> Words | None:
        """The words of the next fact; None where none are kept. A share without events is no turn:
        what it delivers may be older than a deletion."""
        if not (share.events and self._hours() and share.state.words < TURN_BYTES):
            return None
        struck = logging.without_secrets(text)
        return Words(share.state.share, len(share.state.facts), struck, who)

    def _add(self, share: OpenShare, fact: Fact, words: Words | None = None) -> None:
        """Add a fact, with its words; of too many the last are left out."""
        state = share.state
        if len(state.facts) < MOST_FACTS:
            state.facts.append(fact)
            if fact.kind not in AFTERWARDS:
                state.left = ""
        else:
            words = None
        if words is not None:
            record = pack_words(words)
            if state.words + len(record) > TURN_BYTES:
                words.pieces = (("left_out", str(len(record)).encode()),)
                record = pack_words(words)
            if state.words + len(record) <= TURN_BYTES:
                share.records += record
                state.words += len(record)
        share.changed = True

    def _send(self, shares: Sequence[OpenShare]) -> None:
        """Send shares, with their words and acts."""
        changes: list[Change] = []
        for share in shares:
            self._send_words_and_acts(share)
            # The store takes a shorter one for an older state.
            stored = encode(share.state).ljust(share.counted)
            words = share.state.words - share.state.refused
            more, more_words = len(stored) - share.counted, words - share.counted_words
            changes.append(Change(share.state, stored, more, more_words))
            share.counted, share.counted_words = len(stored), words
            share.changed = share.due = False
        uncount = partial(_uncount, shares, changes)
        self._unless_answered(self._traces.note_later(changes), shares, uncount, uncount)

    def _send_words_and_acts(self, share: OpenShare) -> None:
        while share.writers:
            self._index(share, share.writers.pop())
        if share.records:
            state, records, hours = share.state, bytes(share.records), self._hours()
            adding = self._traces.add_words_later(
                share.conversation, state.turn, state.at, records, hours
            )
            take_back = partial(share.take_back, records)
            self._unless_answered(adding, [share], take_back, partial(share.refuse, len(records)))
            share.records.clear()
        for call, act in share.acts.items():
            keeping = self._traces.keep_act_later(act, call)
            self._unless_answered(keeping, [share], partial(share.acts.setdefault, call, act))
        share.acts.clear()

    def _index(self, share: OpenShare, writer: str) -> None:
        """Index words under their writer at once: a request that deletes them may follow."""
        indexing = self._traces.index_later(writer, share.conversation, self._hours())
        self._unless_answered(indexing, [share], partial(share.writers.add, writer))

    def _unless_answered(
        self,
        sent: asyncio.Future[list[Any]],
        shares: Sequence[OpenShare],
        undo: Callable[[], object],
        refuse: Callable[[], object] = bool,
    ) -> None:
        """Have what was sent in a request without an answer sent again.

        Args:
            refuse: is called where the store does not keep it.
        """

        def check(sent: asyncio.Future[list[Any]]) -> None:
            if sent.cancelled():
                return
            if sent.exception() is None and sent.result() != NOT_KEPT:
                return
            if self._traces.is_unanswered(sent):
                undo()
                for share in shares:
                    share.changed = True
            else:
                refuse()
            self._start_timer()

        sent.add_done_callback(check)

    def _act(self, share: OpenShare, at: int, ended: CallEnded) -> Act:
        call, result = ended.call, ended.result
        decision = share.decided.get(call.id)
        decided = by = ""
        if decision:
            decided = "approved" if decision.approved else "rejected"
            by = self._person(share, decision.by)
        arguments = keyed(self._key, encode(ended.made.arguments).decode())
        turn, who = share.state.turn, share.state.person
        return Act(at, turn, who, call.name, arguments, decided, by, result.outcome)

    def _person(self, share: OpenShare, author: str) -> str:
        return keyed(self._key, person_of(share.conversation, author)) if author else ""

    def _id(self, name: str) -> str:
        """An id as it is kept."""
        return name if OWN.fullmatch(name) else keyed(self._key, name)

    def _delete_soon(self, conversation: str) -> None:
        deleting = asyncio.create_task(self._delete_words(conversation))
        self._deleting.add(deleting)
        deleting.add_done_callback(self._deleting.discard)

    async def _delete_words(self, conversation: str) -> None:
        try:
            await self._traces.delete_words(conversation)
        except StoreUnavailable as error:
            log.warning("traces.not_deleted", cause=str(error))
            asyncio.get_running_loop().call_later(DELETE_S, self._delete_soon, conversation)


def _is_over(share: Share, at: int) -> bool:
    """Whether a share ended more than ``OPEN_MS`` before this time."""
    return bool(share.outcome) and at - share.at - share.ms > OPEN_MS


def _uncount(shares: Sequence[OpenShare], changes: Sequence[Change]) -> None:
    """Note that these bytes were not counted."""
    for share, change in zip(shares, changes, strict=True):
        share.counted -= change.more
        share.counted_words -= change.more_words
