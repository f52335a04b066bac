"""Calls that act: a person is asked before one is made, and the turn is parked until they have decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import structlog

from bot.agent.turn import ApprovalDecision
from bot.channels import Delivery, InboundEvent, Question, Reply
from bot.commands import SpokenCommands
from bot.conversation.journal import ASKED, DECIDED, ApprovalRequest, Kept, decode_arrival
from bot.conversation.triage import is_stop
from bot.errors import AwaitingApproval
from bot.safe_text.arguments import SHOWN, described_whole, fenced
from bot.safe_text.names import name_in_words
from bot.store import JournalledTurn, Lease, Store, Waiting
from bot.texts import Texts, language_of
from bot.transcript import UNREADABLE, Author, ToolCall, encode, new_id

log = structlog.stdlib.get_logger(__name__)

Mode = Literal["ask", "auto_reject", "auto_approve"]

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
class Policy:
    """Who decides about calls that act.

    Attributes:
        ttl_s: seconds a question stays open.
        approvers: ids of people who may decide beside the one who asked.
    """

    mode: Mode = "ask"
    ttl_s: int = 3_600
    approvers: tuple[str, ...] = ()


class Approvals:
    """Asks, and reads what was answered.

    Args:
        language: of words that are of none.
    """

    def __init__(self, store: Store, texts: Texts, commands: SpokenCommands, policy: Policy, language: str) -> None:
        self._store = store
        self._texts = texts
        self._commands = commands
        self._policy = policy
        self._language = language

    async def review(
        self, lease: Lease, turn_id: str, address: str, words: str, call: ToolCall, asker: Author
    ) -> ApprovalDecision:
        """Decide about a call at once, or ask.

        Args:
            words: the asker's, for the language.

        Raises:
            AwaitingApproval: a person has been asked; ``decide`` tells what came of it.
        """
        if self._policy.mode != "ask":
            approved = self._policy.mode == "auto_approve"
            return ApprovalDecision(call.id, approved, call.arguments, "" if approved else SWITCHED_OFF)
        if not (asker.id or self._policy.approvers):
            return ApprovalDecision(call.id, approved=False, arguments=call.arguments, reason=NOBODY_MAY)
        waiting = await self._store.inbox.read(lease.conversation)
        if any(is_stop(arrival, self._commands.read) for _, arrival in _read(waiting)):
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

    async def decide(self, lease: Lease, journalled: JournalledTurn, kept: Kept, *, is_prompt: bool) -> None:
        """Record what has been decided; the first decision counts. Presses by people who may not decide are refused.

        Args:
            kept: the turn's journal, which ends with a question.
            is_prompt: the channel's (``bot.channels.Channel``).

        Raises:
            AwaitingApproval: nothing has been.
        """
        asked = kept.asked
        now = await self._store.now_ms(lease.conversation)  # before the inbox: what came in time is in there
        waiting = await self._store.inbox.read(lease.conversation)
        words_since = await self._words_since(lease.conversation, journalled, asked, is_prompt=is_prompt)
        left = len(waiting)
        for entry, arrival in _read(waiting[asked.before :]):
            is_late = (entry.accepted_at or now) > asked.question.until
            decided = None if is_late else self._decision(kept, arrival, words_since, is_prompt=is_prompt)
            if decided is not None:
                answers = (entry.frame,) if arrival.event == "decision" else ()
                await self._settle(lease, journalled.turn_id, asked, decided, arrival.message.author, answers)
                return
            if arrival.event == "decision":
                key = "not_yours" if arrival.target == asked.question.id and not is_late else "over"
                reply = Reply(self._texts.get(f"approval.{key}", asked.language), private=True)
                delivery = Delivery(new_id("notice"), journalled.turn_id, reply, arrival.address)
                await self._store.journal.dismiss(lease, entry.frame, encode(delivery))
                left -= 1
        if now < asked.question.until:
            raise AwaitingApproval(asked.question.until, left)
        expired = ApprovalDecision(
            asked.question.call_id, approved=False, arguments=asked.question.arguments, reason=EXPIRED
        )
        await self._settle(lease, journalled.turn_id, asked, expired, None)

    async def _words_since(
        self, conversation: str, journalled: JournalledTurn, asked: ApprovalRequest, *, is_prompt: bool
    ) -> int | None:
        """From when on words can be an answer, by the platform's clock; None while the question is on its way."""
        shown = journalled.shown
        if shown and shown.question_id == asked.question.id:
            return shown.at if is_prompt else shown.at + READING_MS
        # An earlier version does not record that a question was delivered, and lets all words decide.
        return 0 if await self._store.outbox.head(conversation) is None else None

    def _decision(
        self, kept: Kept, arrival: InboundEvent, words_since: int | None, *, is_prompt: bool
    ) -> ApprovalDecision | None:
        """What an arrival says about the question; None where it says nothing, or its author has no say."""
        question, author = kept.asked.question, arrival.message.author or Author()
        is_asker = author.id == question.asker_id != ""  # a platform may keep ids back: two of none are no one
        if arrival.event == "decision":
            if arrival.target != question.id or not (is_asker or author.id in self._policy.approvers):
                return None
            reason = "" if arrival.approved else REJECTED
            return ApprovalDecision(question.call_id, arrival.approved, question.arguments, reason, arrival.address)
        is_taken_back = arrival.event == "unsent" and arrival.target in kept.ids_of(question.asker_id)
        if arrival.event in ("stop", "left") or is_taken_back or is_stop(arrival, self._commands.read):
            return ApprovalDecision(question.call_id, approved=False, arguments=question.arguments, reason=REJECTED)
        is_read = words_since is not None and arrival.message.at >= words_since
        if arrival.event != "message" or not is_asker or not is_read:
            return None
        text = arrival.message.text.strip()
        said = self._commands.decision(text)
        if self._commands.is_polite(text):
            if not is_prompt:
                return None
            said = True
        reason = "" if said else REJECTED if said is False or not text else f"{REJECTED}: {text[:REASON_CAP]}"
        return ApprovalDecision(
            question.call_id, bool(said), question.arguments, reason, arrival.address, arrival.message.id
        )

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


def _read(waiting: list[Waiting]) -> list[tuple[Waiting, InboundEvent]]:
    """The entries that can be read; the next turn deals with the others."""
    read = []
    for entry in waiting:
        try:
            read.append((entry, decode_arrival(entry.body)))
        except UNREADABLE:
            log.error("inbox.unreadable")
    return read
