"""Records what turns do: facts of each, and words where they are kept.

What a step of a turn left is sent to the store before the step is recorded in the journal, in the
same request or an earlier one. So whatever another process can see of a turn, its trace has too;
what a process did after that and did not record is missing.
"""

from __future__ import annotations

import asyncio
import math
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

import structlog
from msgspec import Raw
from msgspec.json import Decoder
from msgspec.structs import replace

from bot import log as logging
from bot.errors import StoreUnavailable
from bot.features.traces.records import (
    Act,
    Fact,
    Piece,
    Share,
    Words,
    encode,
    keyed,
    pack_words,
)
from bot.features.traces.store import TURN_BYTES, Traces
from bot.store.keys import person_of, shard_of
from bot.telemetry.observed import (
    AttemptFailed,
    CallDecided,
    CallEnded,
    DeliveryBegun,
    EventTaken,
    Measured,
    ObservedStep,
    Rated,
    RequestSent,
    ResponseRead,
    ShareBegun,
    ShareEnded,
    ShareFailed,
)
from bot.transcript import UNREADABLE, channel_of

log = structlog.stdlib.get_logger(__name__)

FLUSH_S = 0.5  # until what no step of the journal follows is sent
MOST_OPEN = 1_000  # turns of which a process remembers what it has done
MOST_FACTS = 400  # of a share
MOST_FILES = 256 * 1024  # bytes of the files within a request that are kept
SHORTEST_PROMPT = 512  # bytes of a part of a request that is kept once, for all that have it
PROMPTS = 8  # such parts that a process remembers
# Parts of a request that are people's words, by vendor.
PEOPLES = ("contents", "messages", "input", "prompt")
# Ids that Kaiwa makes; others, as of a press, may hold those of a platform.
OWN = re.compile(r"(turn|reply|notice|question)_[0-9a-f]{1,32}(_\d{1,3}|_back|_settled)?")
CHANGES = ("edited", "unsent")
UNKNOWN = "unknown"  # a tool that does not exist; the model may have written anything
_members = Decoder(dict[str, Raw]).decode


@dataclass(slots=True)
class OpenShare:
    """A share of a turn while this process works on it.

    Attributes:
        facts: with ids of people where stored ones have digests.
        words: bytes of words; ``records`` are those that are still to be sent.
        counted, counted_words: bytes of facts and of words that were sent.
        changed: something is still to be sent.
        events: ids of events and their uses that have been noted.
        decided: by call.
        acts: that are still to be sent, each with when it ended.
        digests: by what they stand for.
        begun: the number of the fact of a delivery that has begun.
        asked_at: by model, when its last request was sent, milliseconds since the epoch.
    """

    turn: str
    conversation: str
    at: int
    share: str = field(default_factory=partial(secrets.token_hex, 3))
    person: str = ""
    facts: list[Fact] = field(default_factory=list)
    outcome: str = ""
    ms: int = 0
    resumed: bool = False
    words: int = 0
    records: bytearray = field(default_factory=bytearray)
    counted: int = 0
    counted_words: int = 0
    changed: bool = False
    events: set[tuple[str, str]] = field(default_factory=set)
    decided: dict[str, CallDecided] = field(default_factory=dict)
    acts: list[tuple[int, CallEnded]] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    begun: int | None = None
    asked_at: dict[str, int] = field(default_factory=dict)


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
        self._open: dict[str, OpenShare] = {}
        self._key = b""
        self._reading: asyncio.Future[list[Any]] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._prompts: dict[bytes, str] = {}
        self._kept_at: dict[str, float] = {}  # by digest, when a prompt was sent to the store
        self._deleting: set[asyncio.Task[None]] = set()
        self._notes: Mapping[type[Any], Callable[[OpenShare, Any], None]] = {
            EventTaken: self._event,
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
        note = self._notes.get(type(step))
        if note is None:
            return
        share = self._open.get(turn) or self._begin(conversation, turn)
        note(share, step)

    def read_key(self) -> None:
        """Have the key of the digests read, if it is not known yet."""
        if not self._key and self._reading is None:
            self._reading = self._traces.read_key_later()
            self._reading.add_done_callback(self._take_key)

    def flush(self) -> None:
        """Send what has not been sent yet."""
        self._timer = None
        for share in [one for one in self._open.values() if one.changed]:
            self._send(share)

    async def aclose(self) -> None:
        """Send the rest, and end the deletions under way."""
        if self._reading is not None:
            await asyncio.wait([self._reading])
        self.flush()
        await asyncio.gather(*self._deleting, return_exceptions=True)

    def _take_key(self, read: asyncio.Future[list[Any]]) -> None:
        self._reading = None
        if not read.cancelled() and read.exception() is None:
            (replies,) = read.result()
            self._key = bytes(replies[-1])

    def _begin(self, conversation: str, turn: str) -> OpenShare:
        self.read_key()
        while len(self._open) >= MOST_OPEN:
            del self._open[next(iter(self._open))]
        share = self._open[turn] = OpenShare(turn, conversation, self._traces.clock())
        return share

    # What each step leaves:

    def _event(self, share: OpenShare, step: EventTaken) -> None:
        message = step.message
        if (message.id, step.use) in share.events:
            return  # a turn that begins again goes through its events again
        share.events.add((message.id, step.use))
        author = message.author
        who = author.id if author else ""
        share.person = share.person or who
        words = self._words(share, text=message.text, who=author.name if author else "")
        if words and who:
            person = person_of(share.conversation, who)
            self._traces.index_later(person, share.conversation, self._hours())
        if words and not share.facts:
            words.conversation = share.conversation
        size = len(message.text.encode())
        self._add(
            share, Fact("event", self._at(share), step.kind, step.use, size=size, person=who), words
        )
        if step.kind in CHANGES:
            deleting = asyncio.create_task(self._delete_words(share.conversation))
            self._deleting.add(deleting)
            deleting.add_done_callback(self._deleting.discard)

    def _request(self, share: OpenShare, step: RequestSent) -> None:
        share.asked_at[step.model] = self._traces.clock()
        size = sum(map(len, step.pieces))
        words = self._words(share)
        if words:
            words.pieces = self._pieces(step.pieces)
        self._add(share, Fact("request", self._at(share), step.model, size=size), words)

    def _response(self, share: OpenShare, step: ResponseRead) -> None:
        now, events = self._traces.clock(), b"\n".join(step.events)
        words = self._words(share, text=step.detail)
        if words:
            words.pieces = (("json", logging.bytes_without_secrets(events)),)
        fact = Fact(
            "response",
            self._at(share),
            step.model,
            step.stop_reason,
            ms=now - share.asked_at.get(step.model, now),
            size=len(events),
            usage=step.usage,
        )
        self._add(share, fact, words)
        self._send(share)  # what is recorded of the response follows

    def _failure(self, share: OpenShare, step: AttemptFailed) -> None:
        wait_ms = round(step.wait_s * 1000)
        fact = Fact(
            "failure",
            self._at(share),
            step.model,
            step.failure,
            next=step.next_model,
            wait_ms=wait_ms,
        )
        self._add(share, fact, self._words(share, text=step.cause))

    def _decision(self, share: OpenShare, step: CallDecided) -> None:
        share.decided[step.call.id] = step
        outcome = "approved" if step.approved else "rejected"
        fact = Fact(
            "decision", self._at(share), step.call.name, outcome, id=step.call.id, person=step.by
        )
        self._add(share, fact, self._words(share, text=step.reason))

    def _call(self, share: OpenShare, step: CallEnded) -> None:
        call, result = step.call, step.result
        response = encode(result.response)
        name = call.name if step.risk else UNKNOWN
        words = self._words(share, text=call.reason, who="" if step.risk else call.name)
        if words:
            words.arguments = logging.bytes_without_secrets(encode(call.arguments))
            words.result = logging.bytes_without_secrets(response)
            if step.made.arguments != call.arguments:
                words.made = logging.bytes_without_secrets(encode(step.made.arguments))
        fact = Fact(
            "call",
            self._at(share),
            name,
            result.outcome,
            ms=step.ms,
            size=len(response),
            id=call.id,
            risk=step.risk,
        )
        self._add(share, fact, words)
        if step.risk == "high" or call.id in share.decided:
            share.acts.append((self._traces.clock(), step))

    def _delivery(self, share: OpenShare, step: DeliveryBegun) -> None:
        share.begun = len(share.facts)
        size = len(step.text.encode())
        fact = Fact("delivery", self._at(share), size=size, id=step.delivery_id)
        self._add(share, fact, self._words(share, text=step.text))

    def _measured(self, share: OpenShare, step: Measured) -> None:
        """Turns and deliveries; what a model or a tool has taken stands with its own step."""
        if step.kind == "turn":
            share.outcome, share.ms = step.outcome, self._at(share)
            self._touch(share)
        elif step.kind == "delivery" and share.begun is not None:
            if share.begun < len(share.facts):
                fact = share.facts[share.begun]
                ended = replace(fact, name=step.name, outcome=step.outcome, ms=step.ms)
                share.facts[share.begun] = ended
            share.begun = None
            self._send(share)  # the request that takes it from the outbox follows

    def _rating(self, share: OpenShare, step: Rated) -> None:
        outcome = "good" if step.is_good else "bad"
        self._add(share, Fact("rating", self._at(share), outcome=outcome, person=step.by))

    def _share_begun(self, share: OpenShare, step: ShareBegun) -> None:
        share.resumed = share.resumed or step.is_resumed

    def _share_failed(self, share: OpenShare, step: ShareFailed) -> None:
        if step.outcome == "given_up":
            share.outcome = "failed"
        fact = Fact("failure", self._at(share), outcome=step.outcome)
        self._add(share, fact, self._words(share, text=step.cause))

    def _share_ended(self, share: OpenShare, step: ShareEnded) -> None:
        """Of a turn that is left as it is, what was done is sent with its lease's release."""
        if step.cause and share.changed:
            self._send(share)

    # How it is sent:

    def _words(self, share: OpenShare, *, text: str = "", who: str = "") -> Words | None:
        """The words of the next fact; None where none are kept. A share without events is no turn:
        what it delivers may be older than a deletion."""
        if not (share.events and self._hours() and share.words < TURN_BYTES):
            return None
        struck = logging.without_secrets(text)
        return Words(share.share, len(share.facts), struck, who)

    def _at(self, share: OpenShare) -> int:
        return self._traces.clock() - share.at

    def _add(self, share: OpenShare, fact: Fact, words: Words | None = None) -> None:
        """Add a step, which is sent soon; of too many the last are left out."""
        if len(share.facts) < MOST_FACTS:
            share.facts.append(fact)
        else:
            words = None
        if words is not None:
            record = pack_words(words)
            if share.words + len(record) > TURN_BYTES:
                words.pieces = (("left_out", str(len(record)).encode()),)
                record = pack_words(words)
            share.records += record
            share.words += len(record)
        self._touch(share)

    def _touch(self, share: OpenShare) -> None:
        share.changed = True
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)

    def _send(self, share: OpenShare) -> None:
        """Send a share with the process's next request."""
        if not self._key:
            self.read_key()
            self._touch(share)
            return
        if share.records:
            turn, records, hours = self._id(share.turn), bytes(share.records), self._hours()
            self._traces.add_words_later(share.conversation, turn, share.at, records, hours)
            share.records.clear()
        for at, ended in share.acts:
            self._traces.keep_act_later(self._act(share, at, ended), ended.call.id)
        share.acts.clear()
        as_kept = self._as_kept(share)
        stored = encode(as_kept)
        more, more_words = len(stored) - share.counted, share.words - share.counted_words
        self._traces.note_later(as_kept, stored, more, more_words)
        share.counted, share.counted_words, share.changed = len(stored), share.words, False

    def _as_kept(self, share: OpenShare) -> Share:
        """A share with digests in place of ids."""
        facts = []
        for fact in share.facts:
            if fact.person:
                fact = replace(fact, person=self._person(share, fact.person))
            if fact.kind == "delivery":
                fact = replace(fact, id=self._id(fact.id))
            facts.append(fact)
        return Share(
            self._id(share.turn),
            share.share,
            share.at,
            channel_of(share.conversation),
            shard_of(share.conversation),
            self._digest(share, share.conversation),
            self._digest(share, self._place(share.conversation)),
            self._person(share, share.person),
            tuple(facts),
            share.outcome,
            share.ms,
            share.words,
            self._version,
            share.resumed,
        )

    def _act(self, share: OpenShare, at: int, ended: CallEnded) -> Act:
        call, result = ended.call, ended.result
        decision = share.decided.get(call.id)
        decided = by = ""
        if decision:
            decided = "approved" if decision.approved else "rejected"
            by = self._person(share, decision.by)
        arguments = keyed(self._key, encode(ended.made.arguments).decode())
        who, turn = self._person(share, share.person), self._id(share.turn)
        return Act(at, turn, who, call.name, arguments, decided, by, result.outcome)

    def _person(self, share: OpenShare, author: str) -> str:
        return self._digest(share, person_of(share.conversation, author)) if author else ""

    def _digest(self, share: OpenShare, text: str) -> str:
        """The digest of a text that stands in a share again and again."""
        if text not in share.digests:
            share.digests[text] = keyed(self._key, text)
        return share.digests[text]

    def _id(self, name: str) -> str:
        """An id as it is kept."""
        return name if OWN.fullmatch(name) else keyed(self._key, name)

    def _pieces(self, body: tuple[bytes, ...]) -> tuple[Piece, ...]:
        """The pieces of a request's body as they are kept."""
        if len(body) == 1:
            self._learn_prompts(body[0])
        pieces: list[Piece] = []
        left = MOST_FILES
        for place, data in enumerate(body):
            if place % 2 == 0:
                pieces += self._without_prompts(logging.bytes_without_secrets(data))
            elif len(data) <= left:
                pieces.append(("file", data))
                left -= len(data)
            else:
                pieces.append(("left_out", str(len(data)).encode()))
        return tuple(pieces)

    def _learn_prompts(self, body: bytes) -> None:
        """Remember the parts of a body that hold nobody's words: prompt and declarations."""
        try:
            members = _members(body)
        except UNREADABLE:
            return
        for name, value in members.items():
            prompt = bytes(value)
            if name in PEOPLES or len(prompt) < SHORTEST_PROMPT or prompt in self._prompts:
                continue
            while len(self._prompts) >= PROMPTS:
                del self._prompts[next(iter(self._prompts))]
            self._prompts[prompt] = sha256(prompt).hexdigest()[:32]

    def _without_prompts(self, data: bytes) -> list[Piece]:
        """JSON with digests in place of the prompts in it, which are kept once."""
        pieces: list[Piece] = [("json", data)]
        for prompt, digest in self._prompts.items():
            parted: list[Piece] = []
            for kind, piece in pieces:
                before, found, after = (
                    piece.partition(prompt) if kind == "json" else (piece, b"", b"")
                )
                if not found:
                    parted.append((kind, piece))
                    continue
                self._keep_prompt(digest, prompt)
                parted += [("json", before), ("shared", digest.encode()), ("json", after)]
            pieces = parted
        return [one for one in pieces if one[1]]

    def _keep_prompt(self, digest: str, prompt: bytes) -> None:
        """Keep a prompt for as long as words that begin now, and some more."""
        hours, now = self._hours(), time.monotonic()
        if now - self._kept_at.get(digest, -math.inf) > hours * 900:
            keeping = self._traces.keep_prompt_later(digest, prompt, hours + 1 + hours // 2)
            keeping.add_done_callback(partial(self._note_kept, digest, now))

    def _note_kept(self, digest: str, at: float, kept: asyncio.Future[list[Any]]) -> None:
        if not kept.cancelled() and kept.exception() is None:
            self._kept_at[digest] = at

    async def _delete_words(self, conversation: str) -> None:
        try:
            await self._traces.delete_words(conversation)
        except StoreUnavailable as error:
            log.warning("traces.not_deleted", cause=str(error))
