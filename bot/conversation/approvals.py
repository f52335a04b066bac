"""Calls that act: a person is asked before one is made, and the turn is parked until they have decided."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import structlog

from bot.agent.turn import ApprovalDecision
from bot.channels import Delivery, InboundEvent, Question, Reply
from bot.conversation.journal import ASKED, DECIDED, ApprovalRequest, TurnJournal, readable
from bot.conversation.services import Services
from bot.conversation.triage import CONVERSATION_DELETED, ParsedEvent, parse
from bot.errors import AwaitingApproval
from bot.safe_text.arguments import SHOWN, code_block, render_within_limit
from bot.safe_text.names import isolated_name
from bot.store import InboxEntry, JournalledTurn, Lease, ShownQuestion
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
READING_MS = 1_500  # nobody reads a question faster: an earlier message answers something else


@dataclass(frozen=True, slots=True)
class Reading:
    """An open question, and what is needed to read its answers.

    Attributes:
        journal: of the turn; its last step is the question.
        newest: the question of this turn that was delivered last.
        changed: ids of messages that were edited or taken back since; a yes among them no longer counts.
        is_prompt: every message answers the question, as at a terminal.
    """

    journal: TurnJournal
    newest: ShownQuestion | None
    changed: Collection[str]
    is_prompt: bool

    @property
    def question(self) -> Question:
        return self.journal.asked.question

    @property
    def shown(self) -> ShownQuestion | None:
        """Since when the question can be read; None before its delivery."""
        return self.newest if self.newest and self.newest.question_id == self.question.id else None

    def has_read(self, entry: InboxEntry, event: InboundEvent) -> bool:
        """Whether the message was written after the question could be read, and stored after its delivery."""
        if self.shown is None:
            return False
        if self.is_prompt:
            return event.message.at >= self.shown.at
        came_later = not entry.accepted_at or entry.accepted_at >= self.shown.stored_at
        return event.message.at >= self.shown.at + READING_MS and came_later


class Approvals:
    """Asks for approval and reads the answers."""

    def __init__(self, services: Services) -> None:
        self._store = services.store
        self._texts = services.texts
        self._commands = services.commands
        self._policy = services.policy
        self._language = services.defaults.language  # of texts whose language is unknown

    async def review(
        self, lease: Lease, turn_id: str, address: str, text: str, call: ToolCall, asker: Author
    ) -> ApprovalDecision:
        """Decide about a call at once, or ask a person.

        Args:
            text: the asker's last message, for the language of the question.

        Raises:
            AwaitingApproval: a person has been asked; ``decide`` reads the answer.
        """
        if self._policy.mode != "ask":
            approved = self._policy.mode == "auto_approve"
            return ApprovalDecision(call.id, approved, call.arguments, "" if approved else SWITCHED_OFF)
        if not (asker.id or self._policy.approvers):
            return ApprovalDecision(call.id, approved=False, arguments=call.arguments, reason=NOBODY_MAY)
        waiting = await self._store.inbox.read(lease.conversation)
        if any(parse(event, self._commands).is_stop for _, event in readable(waiting)):
            return ApprovalDecision(call.id, approved=False, arguments=call.arguments, reason=REJECTED)
        shown = render_within_limit(call.arguments)
        if shown is None:
            return ApprovalDecision(call.id, approved=False, arguments=call.arguments, reason=TOO_LONG)
        until = await self._store.now_ms(lease.conversation) + self._policy.ttl_s * 1000
        question = Question(new_id("question"), call.id, call.name, call.arguments, asker.name, asker.id, until)
        language = language_of(text, self._language)
        sentence = self._texts.get("approval.question", language, tool=call.name, arguments=code_block(shown))
        delivery = Delivery(question.id, turn_id, Reply(sentence, question=question), address)
        asked = ApprovalRequest(question, address, language, len(waiting))
        await self._store.journal.record(lease, ASKED, encode(asked), sends=encode(delivery))
        log.info("approval.asked", tool=call.name)
        raise AwaitingApproval(until, len(waiting))

    async def decide(self, lease: Lease, journalled: JournalledTurn, journal: TurnJournal, *, is_prompt: bool) -> None:
        """Record the first decision in the inbox. Button presses of people who may not decide are refused.

        Args:
            journal: of the turn; its last step is the question.
            is_prompt: the channel's (``bot.channels.Channel``).

        Raises:
            AwaitingApproval: the inbox holds no decision.
        """
        asked = journal.asked
        now = await self._store.now_ms(lease.conversation)  # before the inbox: whatever came in time is there
        inbox = readable(await self._store.inbox.read(lease.conversation))
        waiting = [(entry, parse(event, self._commands)) for entry, event in inbox]
        remaining, unclear = len(waiting), None
        changed = {one.event.target for _, one in waiting if one.event.event in ("edited", "unsent")}
        reading = Reading(journal, journalled.shown, changed, is_prompt=is_prompt)
        ended = next((one for one in waiting if _ends(reading, one[1])), None)  # counts before all others
        for entry, parsed in [ended] if ended else waiting:
            event = parsed.event
            is_late = (entry.accepted_at or now) > asked.question.until
            decided = None if is_late else self._decision(reading, entry, parsed)
            if decided is not None:
                answers = (entry.frame,) if event.event == "decision" else ()
                await self._settle(lease, journalled.turn_id, asked, decided, event.message.author, answers)
                return
            if event.event == "decision":
                key = "not_yours" if event.target == asked.question.id and not is_late else "over"
                await self._dismiss(lease, journalled.turn_id, asked, entry, event, key)
                remaining -= 1
            elif self._is_unclear(reading, event):
                unclear = event
        if now < asked.question.until:
            await self._explain(lease, journalled, asked, unclear)
            raise AwaitingApproval(asked.question.until, remaining)
        expired = ApprovalDecision(
            asked.question.call_id, approved=False, arguments=asked.question.arguments, reason=EXPIRED
        )
        await self._settle(lease, journalled.turn_id, asked, expired, None)

    async def _dismiss(
        self, lease: Lease, turn_id: str, asked: ApprovalRequest, entry: InboxEntry, event: InboundEvent, key: str
    ) -> None:
        reply = Reply(self._texts.get(f"approval.{key}", asked.language), private=True)
        delivery = Delivery(new_id("notice"), turn_id, reply, event.address)
        await self._store.journal.dismiss(lease, entry.frame, encode(delivery))

    async def _explain(
        self, lease: Lease, journalled: JournalledTurn, asked: ApprovalRequest, event: InboundEvent | None
    ) -> None:
        """Explain once how to answer a question, if the asker's message looks like an answer and is none."""
        question = asked.question.id
        if event is None or not await self._store.kv.set_if_absent(f"unclear:{question}", self._policy.ttl_s + 1):
            return
        reply = Reply(self._texts.get("approval.unclear", asked.language), private=True)
        delivery = Delivery(new_id("notice"), journalled.turn_id, reply, event.address)
        await self._store.journal.dismiss(lease, b"", encode(delivery))

    def _decision(self, reading: Reading, entry: InboxEntry, parsed: ParsedEvent) -> ApprovalDecision | None:
        """The decision that an event is; None if it decides nothing or its author may not decide."""
        event, question = parsed.event, reading.question
        is_asker = event.author_id == question.asker_id != ""  # without an id nobody is known to be the asker
        if event.event == "decision":
            if event.target != question.id or not (is_asker or event.author_id in self._policy.approvers):
                return None
            reason = "" if event.approved else REJECTED
            return ApprovalDecision(question.call_id, event.approved, question.arguments, reason, event.address)
        if _ends(reading, parsed):
            return ApprovalDecision(question.call_id, approved=False, arguments=question.arguments, reason=REJECTED)
        if event.event != "message" or event.reminder or not is_asker or event.message.id in reading.changed:
            return None
        if parsed.command is not None:  # runs after the turn, so it does not belong to the turn's messages
            return ApprovalDecision(question.call_id, approved=False, arguments=question.arguments, reason=REJECTED)
        text = event.message.text.strip()
        is_polite = self._commands.is_polite(text)
        if not reading.has_read(entry, event) or (is_polite and not reading.is_prompt):
            return None
        answer = True if is_polite else self._commands.decision(text)
        reason = "" if answer else REJECTED if answer is False or not text else f"{REJECTED}: {text[:REASON_CAP]}"
        return ApprovalDecision(
            question.call_id, bool(answer), question.arguments, reason, event.address, event.message.id
        )

    def _is_unclear(self, reading: Reading, event: InboundEvent) -> bool:
        """Whether the asker may believe that a message answers the question, though it does not."""
        is_asker = event.author_id == reading.question.asker_id != ""
        if event.event != "message" or event.reminder or not is_asker or reading.shown is None:
            return False
        text = event.message.text
        if self._commands.is_polite(text):
            return event.message.at >= reading.shown.at + READING_MS  # before that, politeness belongs to the request
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
        who = isolated_name(author.name) if author else ""
        if who:
            text = self._texts.get("approval.by", asked.language, outcome=text, name=who)
        reply = Reply(text, settles=asked.question.id)
        delivery = Delivery(f"{asked.question.id}_settled", turn_id, reply, asked.address)
        await self._store.journal.record(lease, DECIDED, encode(decided), sends=encode(delivery), answers=answers)
        log.info("approval.decided", tool=asked.question.tool, outcome=outcome)


def _ends(reading: Reading, parsed: ParsedEvent) -> bool:
    """Whether an event makes the question void: a stop, the end of the conversation, or the request taken back."""
    event = parsed.event
    is_taken_back = event.event == "unsent" and event.target in reading.journal.ids_of(reading.question.asker_id)
    return parsed.is_stop or event.event == CONVERSATION_DELETED or is_taken_back
