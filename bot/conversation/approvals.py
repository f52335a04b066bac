"""Calls that act: a person is asked before one is made, and the turn is parked until they have decided."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import structlog

from bot.agent.turn import ApprovalDecision
from bot.channels import Delivery, InboundEvent, Question, Reply
from bot.conversation.journal import ASKED, DECIDED, ApprovalRequest, TurnJournal, readable
from bot.conversation.services import Services
from bot.conversation.triage import is_stop
from bot.errors import AwaitingApproval
from bot.safe_text.arguments import SHOWN, described_whole, fenced
from bot.safe_text.names import name_in_words
from bot.store import JournalledTurn, Lease, Shown, Waiting
from bot.texts import language_of
from bot.transcript import Author, ToolCall, encode, new_id

log = structlog.stdlib.get_logger(__name__)

REJECTED = "rejected by the user"
EXPIRED = "approval expired"
SWITCHED_OFF = "rejected: calls that act are switched off here"
NOBODY_MAY = "rejected: it is not known who asked, and nobody else may approve"
TOO_LONG = (
    f"rejected: nobody can be asked about arguments that take more than {SHOWN} characters to show, as what is not "
    "shown whole must not be approved. Use less at a time."
)
REASON_CAP = 500
READING_MS = 1_500  # nobody reads a question faster: words from before that were written to something else


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of an open question when its answers are read.

    Attributes:
        kept: the turn's journal, which ends with the question.
        changed: ids of messages that were edited or taken back since: a yes among them is none any more.
        is_prompt: what is written answers the question, as at a terminal.
    """

    kept: TurnJournal
    newest: Shown | None
    changed: Collection[str]
    is_prompt: bool

    @property
    def question(self) -> Question:
        return self.kept.asked.question

    @property
    def shown(self) -> Shown | None:
        """Since when it can be read; None while it is on its way."""
        return self.newest if self.newest and self.newest.question_id == self.question.id else None

    def has_read(self, entry: Waiting, event: InboundEvent) -> bool:
        """Whether the words were written after the question could be read, and came in after it went out."""
        if self.shown is None:
            return False
        if self.is_prompt:
            return event.message.at >= self.shown.at
        came_later = not entry.accepted_at or entry.accepted_at >= self.shown.stored_at
        return event.message.at >= self.shown.at + READING_MS and came_later


class Approvals:
    """Asks, and reads what was answered."""

    def __init__(self, services: Services) -> None:
        self._store = services.store
        self._texts = services.texts
        self._commands = services.commands
        self._policy = services.policy
        self._language = services.defaults.language  # of words that are of none

    async def review(
        self, lease: Lease, turn_id: str, address: str, words: str, call: ToolCall, asker: Author
    ) -> ApprovalDecision:
        """Decide about a call at once, or ask.

        Args:
            words: the asker's, for the language.

        Raises:
            AwaitingApproval: a person has been asked; ``decide`` reads the answer.
        """
        if self._policy.mode != "ask":
            approved = self._policy.mode == "auto_approve"
            return ApprovalDecision(call.id, approved, call.arguments, "" if approved else SWITCHED_OFF)
        if not (asker.id or self._policy.approvers):
            return ApprovalDecision(call.id, approved=False, arguments=call.arguments, reason=NOBODY_MAY)
        waiting = await self._store.inbox.read(lease.conversation)
        if any(is_stop(event, self._commands) for _, event in readable(waiting)):
            return ApprovalDecision(call.id, approved=False, arguments=call.arguments, reason=REJECTED)
        shown = described_whole(call.arguments)
        if shown is None:
            return ApprovalDecision(call.id, approved=False, arguments=call.arguments, reason=TOO_LONG)
        until = await self._store.now_ms(lease.conversation) + self._policy.ttl_s * 1000
        question = Question(new_id("question"), call.id, call.name, call.arguments, asker.name, asker.id, until)
        text = self._sentence("question", words, tool=call.name, arguments=fenced(shown))
        delivery = Delivery(question.id, turn_id, Reply(text, question=question), address)
        asked = ApprovalRequest(question, address, self._language_of(words), len(waiting))
        await self._store.journal.record(lease, ASKED, encode(asked), sends=encode(delivery))
        log.info("approval.asked", tool=call.name)
        raise AwaitingApproval(until, len(waiting))

    async def decide(self, lease: Lease, journalled: JournalledTurn, kept: TurnJournal, *, is_prompt: bool) -> None:
        """Record what has been decided; the first decision counts. Presses by people who may not decide are refused.

        Args:
            kept: the turn's journal, which ends with a question.
            is_prompt: the channel's (``bot.channels.Channel``).

        Raises:
            AwaitingApproval: nothing has been.
        """
        asked = kept.asked
        now = await self._store.now_ms(lease.conversation)  # before the inbox: what came in time is in there
        waiting = readable(await self._store.inbox.read(lease.conversation))
        left, unclear = len(waiting), None
        changed = {event.target for _, event in waiting if event.event in ("edited", "unsent")}
        reading = Reading(kept, journalled.shown, changed, is_prompt=is_prompt)
        ended = next((one for one in waiting if self._ends(reading, one[1])), None)  # whatever stands before it
        for entry, event in [ended] if ended else waiting:
            is_late = (entry.accepted_at or now) > asked.question.until
            decided = None if is_late else self._decision(reading, entry, event)
            if decided is not None:
                answers = (entry.frame,) if event.event == "decision" else ()
                await self._settle(lease, journalled.turn_id, asked, decided, event.message.author, answers)
                return
            if event.event == "decision":
                key = "not_yours" if event.target == asked.question.id and not is_late else "over"
                await self._dismiss(lease, journalled.turn_id, asked, entry, event, key)
                left -= 1
            elif self._is_unclear(reading, event):
                unclear = event
        if now < asked.question.until:
            await self._say_how(lease, journalled, asked, unclear)
            raise AwaitingApproval(asked.question.until, left)
        expired = ApprovalDecision(
            asked.question.call_id, approved=False, arguments=asked.question.arguments, reason=EXPIRED
        )
        await self._settle(lease, journalled.turn_id, asked, expired, None)

    async def _dismiss(
        self, lease: Lease, turn_id: str, asked: ApprovalRequest, entry: Waiting, event: InboundEvent, key: str
    ) -> None:
        reply = Reply(self._texts.get(f"approval.{key}", asked.language), private=True)
        delivery = Delivery(new_id("notice"), turn_id, reply, event.address)
        await self._store.journal.dismiss(lease, entry.frame, encode(delivery))

    async def _say_how(
        self, lease: Lease, journalled: JournalledTurn, asked: ApprovalRequest, event: InboundEvent | None
    ) -> None:
        """Tell the asker once how a question is answered, where they have said something that decides nothing."""
        question = asked.question.id
        if event is None or not await self._store.kv.set_if_absent(f"unclear:{question}", self._policy.ttl_s + 1):
            return
        reply = Reply(self._texts.get("approval.unclear", asked.language), private=True)
        delivery = Delivery(new_id("notice"), journalled.turn_id, reply, event.address)
        await self._store.journal.dismiss(lease, b"", encode(delivery))

    def _ends(self, reading: Reading, event: InboundEvent) -> bool:
        """Whether somebody wants nothing of it any more, however it was decided."""
        question = reading.question
        is_taken_back = event.event == "unsent" and event.target in reading.kept.ids_of(question.asker_id)
        return event.event in ("stop", "left") or is_taken_back or is_stop(event, self._commands)

    def _decision(self, reading: Reading, entry: Waiting, event: InboundEvent) -> ApprovalDecision | None:
        """What an arrival says about the question; None where it says nothing, or its author has no say."""
        question = reading.question
        is_asker = event.author_id == question.asker_id != ""  # two whose ids a platform keeps back are no one
        if event.event == "decision":
            if event.target != question.id or not (is_asker or event.author_id in self._policy.approvers):
                return None
            reason = "" if event.approved else REJECTED
            return ApprovalDecision(question.call_id, event.approved, question.arguments, reason, event.address)
        if self._ends(reading, event):
            return ApprovalDecision(question.call_id, approved=False, arguments=question.arguments, reason=REJECTED)
        if event.event != "message" or not is_asker or event.message.id in reading.changed:
            return None
        text = event.message.text.strip()
        if self._commands.read(text) is not None:  # obeyed afterwards, so it is no message of this turn
            return ApprovalDecision(question.call_id, approved=False, arguments=question.arguments, reason=REJECTED)
        return self._words(reading, entry, event, text)

    def _words(self, reading: Reading, entry: Waiting, event: InboundEvent, text: str) -> ApprovalDecision | None:
        """The asker's words: yes, no, or a no with its reason; None where they can mean something else."""
        is_polite = self._commands.is_polite(text)
        if not reading.has_read(entry, event) or (is_polite and not reading.is_prompt):
            return None
        said = True if is_polite else self._commands.decision(text)
        reason = "" if said else REJECTED if said is False or not text else f"{REJECTED}: {text[:REASON_CAP]}"
        question = reading.question
        return ApprovalDecision(
            question.call_id, bool(said), question.arguments, reason, event.address, event.message.id
        )

    def _is_unclear(self, reading: Reading, event: InboundEvent) -> bool:
        """Whether the asker may take their words for an answer, which they are not."""
        is_asker = event.author_id == reading.question.asker_id != ""
        if event.event != "message" or not is_asker or reading.shown is None:
            return False
        text = event.message.text
        if self._commands.is_polite(text):
            return event.message.at >= reading.shown.at + READING_MS  # right behind a request they belong to it
        return self._commands.decision(text) is not None and event.message.id not in reading.changed

    async def _settle(
        self,
        lease: Lease,
        turn_id: str,
        asked: ApprovalRequest,
        decided: ApprovalDecision,
        author: Author | None,
        answers: tuple[bytes, ...] = (),
    ) -> None:
        outcome = "approved" if decided.approved else "expired" if decided.reason == EXPIRED else "rejected"
        text = self._texts.get(f"approval.{outcome}", asked.language, tool=asked.question.tool)
        who = name_in_words(author.name) if author else ""
        if who:
            text = self._texts.get("approval.by", asked.language, outcome=text, name=who)
        reply = Reply(text, settles=asked.question.id)
        delivery = Delivery(f"{asked.question.id}_settled", turn_id, reply, asked.address)
        await self._store.journal.record(lease, DECIDED, encode(decided), sends=encode(delivery), answers=answers)
        log.info("approval.decided", tool=asked.question.tool, outcome=outcome)

    def _language_of(self, words: str) -> str:
        return language_of(words, self._language)

    def _sentence(self, key: str, words: str, **values: object) -> str:
        return self._texts.get(f"approval.{key}", self._language_of(words), **values)
