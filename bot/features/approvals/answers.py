"""Reads the answers to an open question: which event of the inbox is a yes or a no to it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from bot.agent.turn import ApprovalDecision
from bot.channels import SAY, Channel, InboundEvent
from bot.commands import bare, words_of
from bot.features.approvals.questions import APPROVE, REJECT, Question
from bot.features.approvals.settings import Config
from bot.pipeline.feature import ParkedTurn, ParsedEvent, rejected
from bot.pipeline.select import CONVERSATION_DELETED
from bot.pipeline.services import Services
from bot.store import InboxEntry, ShownQuestion
from bot.transcript import channel_of

DECISIONS = (APPROVE, REJECT)
REJECTED = "rejected by the user"
CHANGED = (
    "not done: the request has been edited or taken back. Do what the user's messages say now."
)
READING_MS = 1_500  # nobody reads a question faster: an earlier message answers something else


@dataclass(frozen=True, slots=True)
class Reading:
    """An open question, and what is needed to read its answers.

    Attributes:
        turn: waits for them.
        changed: ids of messages that were edited or taken back since; a yes among them no longer
            counts.
    """

    services: Services
    config: Config
    turn: ParkedTurn
    question: Question
    changed: Collection[str]

    @property
    def channel(self) -> Channel:
        """Where the question is asked."""
        return self.services.channels[channel_of(self.turn.lease.conversation)]

    @property
    def is_whole(self) -> bool:
        """Whether the question shows the whole call; elsewhere only a button approves it."""
        most = self.channel.abilities.most_rows
        return not most or len(self.turn.card.rows) <= most

    @property
    def shown(self) -> ShownQuestion | None:
        """Since when the question can be read; None before its delivery."""
        newest = self.turn.journalled.shown
        return newest if newest and newest.question_id == self.question.id else None

    def decision(self, entry: InboxEntry, parsed: ParsedEvent) -> ApprovalDecision | None:
        """The decision that an event is; None if it decides nothing or its author may not
        decide."""
        event, call_id = parsed.event, self.question.call_id
        if event.action in DECISIONS:
            may_decide = self._is_by_asker(event) or (event.author_id in self.config.approvers)
            if event.target != self.question.id or not may_decide:
                return None
            return self._decided(event, approved=event.action == APPROVE)
        if self.ends(parsed):
            return rejected(call_id, CHANGED if event.event == "edited" else REJECTED)
        if not self._is_askers_message(event) or event.message.id in self.changed:
            return None
        if parsed.command is not None:
            # The command runs after the turn, so it does not belong to the turn's messages.
            return rejected(call_id, REJECTED)
        is_polite = self._is_polite(event)
        if not self._has_read(entry, event) or (is_polite and not self.channel.abilities.is_prompt):
            return None
        is_yes = is_polite or self.services.commands.answer(event.message.text) == "approve"
        if is_yes and not self.is_whole:
            return None
        # Without the words: the message joins the turn, and takes them along if it is taken back.
        return self._decided(event, approved=is_yes, message_id=event.message.id)

    def ends(self, parsed: ParsedEvent) -> bool:
        """Whether an event makes the question void: a stop, the end of the conversation, or a
        change of the request."""
        event = parsed.event
        asker_id = self.question.asker_id
        asked = {one.message.id for one in self.turn.events if one.author_id == asker_id}
        is_changed = event.is_change and event.target in asked
        return parsed.is_stop or event.event == CONVERSATION_DELETED or is_changed

    def is_unclear(self, event: InboundEvent) -> bool:
        """Whether the asker may believe that a message answers the question, though it does not."""
        if not self._is_askers_message(event) or self.shown is None:
            return False
        if self._is_polite(event):
            # Before that time, politeness belongs to the request.
            return event.message.at >= self.shown.at + READING_MS
        is_answer = self.services.commands.answer(event.message.text) is not None
        return is_answer and event.message.id not in self.changed

    def _decided(
        self, event: InboundEvent, *, approved: bool, message_id: str = ""
    ) -> ApprovalDecision:
        question, reason = self.question, "" if approved else REJECTED
        return ApprovalDecision(
            question.call_id, approved, question.arguments, reason, event.address, message_id
        )

    def _has_read(self, entry: InboxEntry, event: InboundEvent) -> bool:
        """Whether the message was written after the question could be read, and stored after its
        delivery.

        A pressed choice answers an earlier message, whenever it is pressed.
        """
        if self.shown is None or event.action == SAY:
            return False
        if self.channel.abilities.is_prompt:  # every message answers the question
            return event.message.at >= self.shown.at
        came_later = not entry.accepted_at or entry.accepted_at >= self.shown.stored_at
        return event.message.at >= self.shown.at + READING_MS and came_later

    def _is_askers_message(self, event: InboundEvent) -> bool:
        return self._is_by_asker(event) and is_addressed(event)

    def _is_by_asker(self, event: InboundEvent) -> bool:
        """Without an id nobody is known to be the asker."""
        return event.author_id == self.question.asker_id != ""

    def _is_polite(self, event: InboundEvent) -> bool:
        """Whether a message is only politeness such as "please": part of a request, or a yes."""
        return bare(event.message.text) in words_of(self.services.texts, "approval.polite")


def is_addressed(event: InboundEvent) -> bool:
    """Whether an event is a message that somebody writes to the bot now."""
    return event.event == "message" and not (event.scheduled or event.unmentioned)
