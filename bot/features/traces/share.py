"""A share of a turn while this process works on it: what is kept of each step."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

import structlog
from msgspec import Struct, field
from msgspec.structs import replace

from bot import log as logging
from bot.clock import now_ms
from bot.features.traces.prompts import Prompts
from bot.features.traces.records import AFTERWARDS, Act, Fact, Share, Words, encode, pack_words
from bot.features.traces.store import TURN_BYTES, Change, keyed
from bot.store.keys import person_of
from bot.telemetry.observed import (
    AttemptFailed,
    CallDecided,
    CallEnded,
    CommitBegun,
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

log = structlog.stdlib.get_logger(__name__)

MOST_FACTS = 400  # of a share
# Ids that Kaiwa makes; others, as of a press, may hold those of a platform.
OWN = re.compile(r"(turn|reply|notice|question)_[0-9a-f]{1,32}(_\d{1,3}|_back|_settled)?")
CHANGES = ("edited", "unsent")
UNKNOWN = "unknown"  # a tool that does not exist; the model may have written anything


class Recording(Protocol):
    """What a share needs of its recorder.

    Attributes:
        key: of the digests.
    """

    key: bytes
    prompts: Prompts

    def send_soon(self, share: OpenShare) -> None:
        """Send what has changed, at the latest after a while."""

    def send_with_next(self, share: OpenShare) -> None:
        """Send it with the next request, which may show the turn to others."""

    def index(self, share: OpenShare, writer: str) -> None:
        """Index words under their writer."""

    def delete_soon(self, share: OpenShare) -> None:
        """Delete all words of the share's conversation; ``share.words_at`` follows."""


class OpenShare(Struct, eq=False):
    """Observes the steps of one turn (``Feature.observer``).

    Attributes:
        state: of the share, as the store gets it.
        began_at: when it began by this process' clock.
        keeps_words: where none are kept, only facts are.
        words_at: words are deleted with those of turns that began before, by the store's clock; 0
            until the deletion is done that a change has brought: they are held back.
        records: words that are still to be sent.
        writers: of words, under whom the store has not indexed the conversation.
        acts: that are still to be sent, by call.
    """

    recorder: Recording
    conversation: str
    state: Share
    began_at: int
    keeps_words: bool
    words_at: int
    records: bytearray = field(default_factory=bytearray)
    writers: set[str] = field(default_factory=set)
    acts: dict[str, Act] = field(default_factory=dict)
    _must_delete: bool = False  # with the next step that is no event
    _has_id: bool = False  # the words hold the conversation's id
    _sent: int = 0  # bytes of the state as it was sent last
    _counted: int = 0  # bytes of words
    _events: set[tuple[str, str]] = field(default_factory=set)  # ids and uses of those taken
    _decided: dict[str, CallDecided] = field(default_factory=dict)  # by call
    _begun: int | None = None  # the number of the fact of a delivery that has begun
    _asked_at: dict[str, int] = field(default_factory=dict)  # when a model was asked last

    def observe(self, step: ObservedStep, at_ms: int | None = None) -> None:
        """Keep what is kept of a step, which was taken now or at this time; never raises."""
        if (take := self._takes.get(type(step))) is None:
            return
        try:  # ``guarded`` would be one more call for each step
            take(self, step, (now_ms() if at_ms is None else at_ms) - self.began_at)
        except Exception:
            log.exception("observer.failed", step=type(step).__name__)

    def is_over(self, since: int) -> bool:
        """Whether the share ended before this time by this process' clock."""
        return bool(self.state.outcome) and self.began_at + self.state.ms < since

    def change(self) -> Change:
        """What takes the place of what was sent before."""
        # The store takes a shorter one for an older state.
        stored = encode(self.state).ljust(self._sent)
        self._sent = len(stored)
        words = self.state.words - self.state.refused
        more, self._counted = words - self._counted, words
        return Change(self.state, stored, more)

    def uncount(self, change: Change) -> None:
        """Note that its bytes were not counted."""
        self._counted -= change.words

    def take_back(self, records: bytes, words_at: int) -> None:
        """Records of words that are to be sent once more, unless they are deleted by now."""
        if self.keeps_words and words_at == self.words_at:
            self.records[:0] = records

    def refuse(self, count: int) -> None:
        """Bytes of words that the store did not keep."""
        self.state.refused += count
        self.recorder.send_soon(self)

    # What is made of each step, so many milliseconds after the share began:

    def _event(self, step: EventTaken, at: int) -> None:
        message = step.message
        if (message.id, step.use) in self._events:
            return  # a turn that begins again goes through its events again
        self._events.add((message.id, step.use))
        if step.kind in CHANGES:
            self._delete_words()
        author = message.author
        who = author.id if author else ""
        person = self._person(who)
        self.state.person = self.state.person or person
        text = message.text
        words = self._words(text=text, who=author.name if author else "")
        if words and who:
            self.recorder.index(self, person_of(self.conversation, who))
        if words and not self._has_id:
            words.conversation, self._has_id = self.conversation, True
        size = len(text.encode())
        self._add(Fact("event", at, step.kind, step.use, size=size, person=person), words)

    def _delete_words(self) -> None:
        """Delete the words of the conversation. Of a turn that has not begun to answer those are
        kept that follow; of another one, which may hold more of what was changed, none are."""
        state = self.state
        self.records.clear()
        state.refused, self._has_id = state.words, False
        if state.resumed or any(fact.kind != "event" for fact in state.facts):
            self.keeps_words = False
            self.recorder.delete_soon(self)
        else:
            self.words_at, self._must_delete = 0, True

    def _begin_deletion(self) -> None:
        """Events are taken: features have made the changes, and deleted words themselves."""
        if self._must_delete:
            self._must_delete = False
            self.recorder.delete_soon(self)

    def _persona(self, step: PersonaChosen, at: int) -> None:
        self.state.persona = step.persona

    def _request(self, step: RequestSent, at: int) -> None:
        self._asked_at[step.model] = at
        size = 0
        for place, piece in enumerate(step.pieces):
            size += -(-len(piece) // 3) * 4 if place % 2 else len(piece)  # files leave as base64
        words = self._words()
        if words:
            words.pieces = self.recorder.prompts.pieces(step.pieces)
            if step.cached:
                words.cached = self.recorder.prompts.keep(step.cached)
        self._add(Fact("request", at, step.model, size=size), words)

    def _response(self, step: ResponseRead, at: int) -> None:
        words = self._words(text=step.detail)
        if words:
            words.pieces = (("json", _kept_response(step)),)
        asked = step.asked if step.asked != step.model else ""
        ms = at - self._asked_at.get(asked or step.model, at)
        size = sum(map(len, step.events)) + len(step.events) - 1  # a line each
        reason, usage = step.stop_reason, step.usage
        fact = Fact("response", at, step.model, reason, ms, size, usage=usage, asked=asked)
        self._add(fact, words)
        self.recorder.send_with_next(self)  # what is recorded of the response follows

    def _failure(self, step: AttemptFailed, at: int) -> None:
        wait_ms, following = round(step.wait_s * 1000), step.next_model
        fact = Fact("failure", at, step.model, step.failure, next=following, wait_ms=wait_ms)
        self._add(fact, self._words(text=step.cause))

    def _decision(self, step: CallDecided, at: int) -> None:
        self._decided[step.call.id] = step
        outcome, by = "approved" if step.approved else "rejected", self._person(step.by)
        fact = Fact("decision", at, step.call.name, outcome, id=step.call.id, person=by)
        self._add(fact, self._words(text=step.reason))

    def _call(self, step: CallEnded, at: int) -> None:
        call, result = step.call, step.result
        response = encode(result.response)
        name = call.name if step.risk else UNKNOWN
        words = self._words(text=call.reason, who="" if step.risk else call.name)
        if words:
            words.arguments = logging.bytes_without_secrets(encode(call.arguments))
            words.result = logging.bytes_without_secrets(response)
            if step.made.arguments != call.arguments:
                words.made = logging.bytes_without_secrets(encode(step.made.arguments))
        outcome, ms, size = result.outcome, step.ms, len(response)
        fact = Fact("call", at, name, outcome, ms, size, id=call.id, risk=step.risk)
        self._add(fact, words)
        if step.risk == "high" or call.id in self._decided:
            self.acts[call.id] = self._act(self.state.at + at, step)
            self.recorder.send_with_next(self)

    def _delivery(self, step: DeliveryBegun, at: int) -> None:
        self._begun = len(self.state.facts)
        size = len(step.text.encode())
        name = kept_id(self.recorder.key, step.delivery_id)
        words = self._words(text=step.text)
        self._add(Fact("delivery", at, size=size, id=name), words)

    def _measured(self, step: Measured, at: int) -> None:
        """Deliveries; what all else has taken stands with its own step."""
        if step.kind == "delivery" and self._begun is not None:
            facts = self.state.facts
            if self._begun < len(facts):
                fact = facts[self._begun]
                ended = replace(fact, name=step.name, outcome=step.outcome, ms=step.ms)
                facts[self._begun] = ended
            self._begun = None
            if step.outcome == "delivered" and self.state.outcome:
                self.recorder.send_soon(self)  # the store knows how the turn has ended
            else:
                self.recorder.send_with_next(self)  # which takes it from the outbox

    def _rating(self, step: Rated, at: int) -> None:
        outcome, by = "good" if step.is_good else "bad", self._person(step.by)
        self._add(Fact("rating", at, outcome=outcome, person=by))

    def _share_begun(self, step: ShareBegun, at: int) -> None:
        self.state.resumed = self.state.resumed or step.is_resumed
        self._take_back_end()

    def _commit_begun(self, step: CommitBegun, at: int) -> None:
        self.state.outcome, self.state.ms, self.state.left = step.outcome, at, ""
        self.recorder.send_with_next(self)

    def _take_back_end(self) -> None:
        """The turn goes on: it was not committed."""
        if self.state.outcome:
            self.state.outcome = ""
            self.recorder.send_soon(self)

    def _share_failed(self, step: ShareFailed, at: int) -> None:
        if step.outcome == "given_up":
            self.state.outcome, self.state.ms = "failed", at
        else:
            self._take_back_end()
        fact = Fact("failure", at, outcome=step.outcome)
        self._add(fact, self._words(text=step.cause))

    def _share_ended(self, step: ShareEnded, at: int) -> None:
        """Of a turn that is left as it is, what was done is sent with its lease's release."""
        self._begin_deletion()
        state = self.state
        if step.cause and state.facts and state.left != step.cause:
            state.left, state.outcome = step.cause, ""
            self.recorder.send_with_next(self)

    _takes: ClassVar[Mapping[type[Any], Callable[[OpenShare, Any, int], None]]] = {
        EventTaken: _event,
        PersonaChosen: _persona,
        RequestSent: _request,
        ResponseRead: _response,
        AttemptFailed: _failure,
        CallDecided: _decision,
        CallEnded: _call,
        CommitBegun: _commit_begun,
        DeliveryBegun: _delivery,
        Measured: _measured,
        Rated: _rating,
        ShareBegun: _share_begun,
        ShareFailed: _share_failed,
        ShareEnded: _share_ended,
    }

    def _words(self, *, text: str = "", who: str = "") -> Words | None:
        """The words of the next fact; None where none are kept. A share without events is no turn:
        what it delivers may be older than a deletion."""
        if not (self.keeps_words and self._events and self.state.words < TURN_BYTES):
            return None
        struck = logging.without_secrets(text)
        return Words(self.state.share, len(self.state.facts), struck, who)

    def _add(self, fact: Fact, words: Words | None = None) -> None:
        """Add a fact, with its words; of too many the last are left out."""
        state = self.state
        if fact.kind != "event":
            self._begin_deletion()
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
                self.records += record
                state.words += len(record)
        self.recorder.send_soon(self)

    def _act(self, at: int, ended: CallEnded) -> Act:
        call, result = ended.call, ended.result
        decision = self._decided.get(call.id)
        decided = by = ""
        if decision:
            decided = "approved" if decision.approved else "rejected"
            by = self._person(decision.by)
        arguments = keyed(self.recorder.key, encode(ended.made.arguments).decode())
        turn, who = self.state.turn, self.state.person
        return Act(at, turn, who, call.name, arguments, decided, by, result.outcome)

    def _person(self, author: str) -> str:
        if not author:
            return ""
        return keyed(self.recorder.key, person_of(self.conversation, author))


def _kept_response(step: ResponseRead) -> bytes:
    """The events of a response, a line each. A model that writes a secret may write it in two of
    them: then the message as it was read from them."""
    if len(step.events) > 1:
        said = encode(step.message)
        if (struck := logging.bytes_without_secrets(said)) != said:
            return struck
    return logging.bytes_without_secrets(b"\n".join(step.events))


def kept_id(key: bytes, name: str) -> str:
    """The id of a turn or delivery as it is kept."""
    return name if OWN.fullmatch(name) else keyed(key, name)
