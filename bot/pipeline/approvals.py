"""Calls that act: a person is asked before one is made, and the turn is parked until they have
decided."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

import structlog
from msgspec.structs import replace

from bot.agent.reasons import CAP
from bot.agent.turn import ActingCall, ApprovalDecision
from bot.channels import APPROVE, REJECT, SAY, Delivery, InboundEvent, Reply
from bot.channels.utf16 import fits
from bot.errors import AwaitingApproval
from bot.pipeline.journal import ASKED, DECIDED, ApprovalRequest, TurnJournal, readable
from bot.pipeline.questions import Question, card_of
from bot.pipeline.review import Vote
from bot.pipeline.select import CONVERSATION_DELETED, ParsedEvent, parse
from bot.pipeline.services import Services
from bot.safe_text.arguments import SHOWN, code_block, render_within_limit
from bot.safe_text.names import isolated_name, quotable
from bot.store import InboxEntry, JournalledTurn, Lease, ShownQuestion
from bot.texts import language_for
from bot.transcript import Author, Spending, Usage, channel_of, encode, new_id
from toolset.titles import words_in

log = structlog.stdlib.get_logger(__name__)

REJECTED = "rejected by the user"
EXPIRED = "approval expired"
CHANGED = (
    "not done: the request has been edited or taken back. Do what the user's messages say now."
)
SWITCHED_OFF = "rejected: calls that act are switched off here"
NO_ADDRESS = (
    "rejected: only addresses that the user gave or a result of this turn named are opened here"
)
NOBODY_MAY = "rejected: it is not known who asked, and nobody else may approve"
TOO_LONG = (
    f"rejected: nobody can be asked about arguments that take more than {SHOWN} characters to "
    "show, as what is not "
    "shown whole must not be approved. Use less at a time."
)
VETOED = "rejected by the reviewers"
OUTCOMES = {EXPIRED: "expired", CHANGED: "changed"}  # rows of the catalogue, by the reason of a no
DECISIONS = (APPROVE, REJECT)
CHANGES = frozenset({"edited", "unsent", "left"})
LONGEST = (
    4_900  # UTF-16 code units of a question: LINE takes 5,000 in a message, Slack 12,000 in a block
)
SENTENCE_CAP = 120  # characters of a reviewer's sentence
NAME_CAP = 40  # of a reviewer's name
CUTS = (
    1,
    2,
    4,
    8,
)  # divisors of these lengths; beside the longest arguments the last one always fits
READING_MS = 1_500  # nobody reads a question faster: an earlier message answers something else


@dataclass(frozen=True, slots=True)
class Reading:
    """An open question, and what is needed to read its answers.

    Attributes:
        journal: of the turn; its last step is the question.
        newest: the question of this turn that was delivered last.
        changed: ids of messages that were edited or taken back since; a yes among them no longer
            counts.
        is_prompt: every message answers the question, as at a terminal.
        is_whole: the question shows the whole call; elsewhere only a button approves it.
    """

    journal: TurnJournal
    newest: ShownQuestion | None
    changed: Collection[str]
    is_prompt: bool
    is_whole: bool = True

    @property
    def question(self) -> Question:
        return self.journal.asked.question

    @property
    def shown(self) -> ShownQuestion | None:
        """Since when the question can be read; None before its delivery."""
        return self.newest if self.newest and self.newest.question_id == self.question.id else None

    def has_read(self, entry: InboxEntry, event: InboundEvent) -> bool:
        """Whether the message was written after the question could be read, and stored after its
        delivery.

        A pressed choice answers an earlier message, whenever it is pressed.
        """
        if self.shown is None or event.action == SAY:
            return False
        if self.is_prompt:
            return event.message.at >= self.shown.at
        came_later = not entry.accepted_at or entry.accepted_at >= self.shown.stored_at
        return event.message.at >= self.shown.at + READING_MS and came_later


class Approvals:
    """Asks for approval and reads the answers."""

    def __init__(self, services: Services) -> None:
        self._store = services.store
        self._channels = services.channels
        self._texts = services.texts
        self._commands = services.commands
        self._policy = services.policy
        self._reviewers = services.reviewers
        self._features = services.features
        self._language = services.defaults.language  # of texts whose language is unknown
        self._language_of = services.language

    async def review(
        self,
        lease: Lease,
        turn_id: str,
        address: str,
        acting: ActingCall,
        *,
        answered: Collection[str] = (),
    ) -> ApprovalDecision:
        """Decide about a call at once, or ask a person. Reviewers vote first.

        Args:
            answered: ids of the messages that the turn answers.

        Raises:
            AwaitingApproval: a person has been asked; ``decide`` reads the answer.
        """
        language = language_for(acting.text, acting.asker.locale, self._language)
        labels = acting.tool.labels_in(language)
        shown = render_within_limit(acting.call.arguments, labels)
        if (at_once := self._at_once(acting, shown)) is not None:
            return at_once
        votes = await self._reviewers.vote(
            acting, partial(self._spend, lease.conversation, acting.asker)
        )
        waiting = await self._store.inbox.read(lease.conversation)
        arrivals = [parse(event, self._commands) for _, event in readable(waiting)]
        if any(one.is_stop for one in arrivals):
            return _decision(acting, approved=False, reason=REJECTED)
        if any(one.event.is_change and one.event.target in answered for one in arrivals):
            return _decision(acting, approved=False, reason=CHANGED)
        if (voted := self._by_votes(acting, votes, [one.event for one in arrivals])) is not None:
            await self._store.journal.record(lease, DECIDED, encode(voted))
            log.info(
                "approval.voted",
                tool=acting.call.name,
                outcome="approved" if voted.approved else "rejected",
            )
            return voted
        until = await self._store.now_ms(lease.conversation) + self._policy.ttl_s * 1000
        question = self._question(acting, votes, shown or "", language, until)
        channel = self._channels[channel_of(lease.conversation)]
        with_words = not channel.place(lease.conversation).overhears
        sentence = self._sentence(question, shown or "", language, with_words=with_words)
        delivery = Delivery(
            question.id,
            turn_id,
            Reply(sentence, card=card_of(question, self._texts, language)),
            address,
            asker=question.asker_id,
        )
        asked = ApprovalRequest(question, address, language)
        await self._store.journal.record(lease, ASKED, encode(asked), sends=encode(delivery))
        log.info("approval.asked", tool=acting.call.name)
        raise AwaitingApproval(
            until, 0
        )  # what waits already is read at once: it may end the question

    def _at_once(self, acting: ActingCall, shown: str | None) -> ApprovalDecision | None:
        """The decision that needs neither votes nor a person."""
        if self._policy.mode == "auto_approve" and not acting.address:
            return _decision(acting, approved=True)
        if self._policy.mode == "auto_reject":
            return _decision(
                acting, approved=False, reason=NO_ADDRESS if acting.address else SWITCHED_OFF
            )
        if not (acting.asker.id or self._policy.approvers):
            return _decision(acting, approved=False, reason=NOBODY_MAY)
        return _decision(acting, approved=False, reason=TOO_LONG) if shown is None else None

    def _by_votes(
        self, acting: ActingCall, votes: Sequence[Vote], arrivals: Sequence[InboundEvent]
    ) -> ApprovalDecision | None:
        """The decision that the votes are; None where a person decides.

        Args:
            arrivals: wait to be read; an asker who has said more, and people who change or take
                back words, are asked.
        """
        against = [vote for vote in votes if vote.verdict == "reject"]
        if self._policy.review_mode == "veto" and 2 * len(against) > len(votes):
            sentences = " ".join(quotable(vote.sentence, SENTENCE_CAP) for vote in against)
            return _decision(acting, approved=False, reason=f"{VETOED}: {sentences}")
        decides = (
            self._policy.review_mode == "decide" and acting.call.name in self._policy.review_tools
        )
        is_unanimous = bool(votes) and all(vote.verdict == "approve" for vote in votes)
        is_news = any(
            one.event in CHANGES or one.author_id in ("", acting.asker.id) for one in arrivals
        )
        is_for_people = acting.tool.unaccepted or acting.address
        if decides and is_unanimous and not is_for_people and not is_news:
            return _decision(acting, approved=True)
        return None

    def _question(
        self, acting: ActingCall, votes: Sequence[Vote], shown: str, language: str, until: int
    ) -> Question:
        """The question with its remarks, whose words are cut until all of it fits one message."""
        call, asker, tool = acting.call, acting.asker, acting.tool
        question = Question(
            new_id("question"),
            call.id,
            call.name,
            call.arguments,
            asker=asker.name,
            asker_id=asker.id,
            until=until,
            title=words_in(language, tool.titles),
            labels=tool.labels_in(language),
        )
        for divisor in CUTS:
            question = replace(question, remarks=self._remarks(acting, votes, language, divisor))
            if fits(self._sentence(question, shown, language), LONGEST):
                break
        return question

    def _sentence(
        self, question: Question, shown: str, language: str, *, with_words: bool = True
    ) -> str:
        """The question; it invites words only where the bot receives them."""
        remarks = "".join(f"\n{remark}\n" for remark in question.remarks)
        values = {"tool": question.shown_tool, "arguments": code_block(shown), "remarks": remarks}
        asked = self._texts.get("approval.question", language, **values).strip()
        if with_words:
            return f"{asked}\n\n{self._texts.get('approval.answer', language)}"
        return asked

    def _remarks(
        self, acting: ActingCall, votes: Sequence[Vote], language: str, divisor: int
    ) -> tuple[str, ...]:
        """The words of models, each in a sentence that says whose they are.

        Args:
            divisor: of the length that the words may have.
        """
        remarks = []
        if acting.address:
            remarks.append(self._texts.get("approval.address", language))
        if words := quotable(acting.reason, CAP // divisor):
            remarks.append(self._texts.get("approval.reason", language, words=words))
        for vote in votes:
            name = vote.reviewer
            if len(name) > NAME_CAP:
                name = f"{name[: NAME_CAP - 1]}…"
            words = quotable(vote.sentence, SENTENCE_CAP // divisor)
            key = f"approval.vote_{vote.verdict or 'missing'}"
            remarks.append(self._texts.get(key, language, reviewer=name, words=words))
        return tuple(remarks)

    async def _spend(self, conversation: str, asker: Author, model: str, usage: Usage) -> None:
        spending = Spending(model, usage, asker, 0, is_first=False)
        self._features.after_response(conversation, spending)

    async def decide(self, lease: Lease, journalled: JournalledTurn, journal: TurnJournal) -> None:
        """Record the first decision in the inbox. Button presses of people who may not decide are
        refused.

        Args:
            journal: of the turn; its last step is the question.

        Raises:
            AwaitingApproval: the inbox holds no decision.
        """
        asked = journal.asked
        # The time is read before the inbox, which so holds whatever came in time.
        now = await self._store.now_ms(lease.conversation)
        inbox = await self._store.inbox.read(lease.conversation)
        waiting = [(entry, parse(event, self._commands)) for entry, event in readable(inbox)]
        # What cannot be read waits too: the turn would be taken again at once, and for ever.
        remaining, unclear = len(inbox), None
        changed = {one.event.target for _, one in waiting if one.event.is_change}
        channel = self._channels[channel_of(lease.conversation)]
        rows = len(card_of(asked.question, self._texts, asked.language).rows)
        able = channel.abilities
        is_whole = not able.most_rows or rows <= able.most_rows
        reading = Reading(journal, journalled.shown, changed, able.is_prompt, is_whole)
        # What makes the question void counts before all others.
        ended = [one for one in waiting if _ends(reading, one[1])]
        for entry, parsed in ended[:1] or waiting:
            event = parsed.event
            is_late = (entry.accepted_at or now) > asked.question.until
            decided = None if is_late else self._decision(reading, entry, parsed)
            if decided is not None:
                answers = (entry.frame,) if event.action in DECISIONS else ()
                author = event.message.author
                await self._settle(
                    lease, journalled.turn_id, asked, decided, author=author, answers=answers
                )
                return
            if event.action in DECISIONS:
                is_open = event.target == asked.question.id and not is_late
                key = "not_yours" if is_open else "over"
                text = self._texts.get(f"approval.{key}", asked.language)
                await self._notify(
                    lease, journalled.turn_id, text, event.address, answers=entry.frame
                )
                remaining -= 1
            elif self._is_unclear(reading, event):
                unclear = event
        if now < asked.question.until:
            await self._explain(lease, journalled, asked, unclear, is_whole=is_whole)
            raise AwaitingApproval(asked.question.until, remaining)
        expired = ApprovalDecision(
            asked.question.call_id,
            approved=False,
            arguments=asked.question.arguments,
            reason=EXPIRED,
        )
        await self._settle(lease, journalled.turn_id, asked, expired, None)

    async def _notify(
        self, lease: Lease, turn_id: str, text: str, address: str, *, answers: bytes = b""
    ) -> None:
        """Say something to one person beside the turn.

        Args:
            answers: the frame of an entry in the inbox.
        """
        delivery = Delivery(new_id("notice"), turn_id, Reply(text, private=True), address)
        await self._store.journal.dismiss(lease, answers, encode(delivery))

    async def _explain(
        self,
        lease: Lease,
        journalled: JournalledTurn,
        asked: ApprovalRequest,
        event: InboundEvent | None,
        *,
        is_whole: bool,
    ) -> None:
        """Explain once how to answer a question, if the asker's message looks like an answer and is
        none."""
        question = asked.question.id
        if event is None or not await self._store.kv.set_if_absent(
            f"unclear:{question}", self._policy.ttl_s + 1
        ):
            return
        key = "unclear" if is_whole else "unseen"
        text = self._texts.get(f"approval.{key}", asked.language)
        await self._notify(lease, journalled.turn_id, text, event.address)

    async def notify_waiting(self, lease: Lease, turn_id: str, asked: ApprovalRequest) -> None:
        """Say once to everybody whose messages wait behind another person's question that they
        do."""
        question, channel = asked.question, channel_of(lease.conversation)
        for _, event in readable(await self._store.inbox.read(lease.conversation)):
            if not _waits_behind(event, question.asker_id):
                continue
            name = f"waiting:{channel}:{question.id}:{event.author_id}"
            if not await self._store.kv.set_if_absent(name, self._policy.ttl_s + 1):
                continue
            (known,) = await self._channels[channel].enrich(
                lease.conversation, [event], is_new=False
            )
            text = self._texts.get("approval.waiting", self._language_of(known))
            await self._notify(lease, turn_id, text, event.address)

    def _decision(
        self, reading: Reading, entry: InboxEntry, parsed: ParsedEvent
    ) -> ApprovalDecision | None:
        """The decision that an event is; None if it decides nothing or its author may not
        decide."""
        event, question = parsed.event, reading.question
        decided = partial(ApprovalDecision, question.call_id, arguments=question.arguments)
        # Without an id nobody is known to be the asker.
        is_asker = event.author_id == question.asker_id != ""
        if event.action in DECISIONS:
            if event.target != question.id or not (
                is_asker or event.author_id in self._policy.approvers
            ):
                return None
            approved = event.action == APPROVE
            reason = "" if approved else REJECTED
            return decided(approved=approved, reason=reason, address=event.address)
        if _ends(reading, parsed):
            reason = CHANGED if event.event == "edited" else REJECTED
            return decided(approved=False, reason=reason)
        if not (is_asker and _is_addressed(event)) or event.message.id in reading.changed:
            return None
        if parsed.command is not None:
            # The command runs after the turn, so it does not belong to the turn's messages.
            return decided(approved=False, reason=REJECTED)
        text = event.message.text.strip()
        is_polite = self._commands.is_polite(text)
        if not reading.has_read(entry, event) or (is_polite and not reading.is_prompt):
            return None
        answer = is_polite or self._commands.decision(text)
        if answer and not reading.is_whole:
            return None
        # Without the words: the message joins the turn, and takes them along if it is taken back.
        reason = "" if answer else REJECTED
        return decided(
            approved=bool(answer),
            reason=reason,
            address=event.address,
            message_id=event.message.id,
        )

    def _is_unclear(self, reading: Reading, event: InboundEvent) -> bool:
        """Whether the asker may believe that a message answers the question, though it does not."""
        is_asker = event.author_id == reading.question.asker_id != ""
        if not (is_asker and _is_addressed(event)) or reading.shown is None:
            return False
        text = event.message.text
        if self._commands.is_polite(text):
            # Before that time, politeness belongs to the request.
            return event.message.at >= reading.shown.at + READING_MS
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
        decided = replace(decided, by=author.id if author else "")
        outcome = OUTCOMES.get(decided.reason, "rejected")
        if decided.approved:
            outcome = "approved"
        text = self._texts.get(
            f"approval.{outcome}", asked.language, tool=asked.question.shown_tool
        )
        if author and (who := isolated_name(author.name)):
            text = self._texts.get("approval.by", asked.language, outcome=text, name=who)
        reply = Reply(text, replaces=asked.question.id)
        delivery = Delivery(f"{asked.question.id}_settled", turn_id, reply, asked.address)
        await self._store.journal.record(
            lease, DECIDED, encode(decided), sends=encode(delivery), answers=answers
        )
        log.info("approval.decided", tool=asked.question.tool, outcome=outcome)


def _ends(reading: Reading, parsed: ParsedEvent) -> bool:
    """Whether an event makes the question void: a stop, the end of the conversation, or a change of
    the request."""
    event = parsed.event
    asked = reading.journal.ids_of(reading.question.asker_id)
    is_changed = event.is_change and event.target in asked
    return parsed.is_stop or event.event == CONVERSATION_DELETED or is_changed


def _waits_behind(event: InboundEvent, asker_id: str) -> bool:
    """Whether a person of a group waits for an answer that comes after the question to somebody
    else."""
    return _is_addressed(event) and event.group and event.author_id not in ("", asker_id)


def _is_addressed(event: InboundEvent) -> bool:
    """Whether an event is a message that somebody writes to the bot now."""
    return event.event == "message" and not (event.scheduled or event.unmentioned)


def _decision(acting: ActingCall, *, approved: bool, reason: str = "") -> ApprovalDecision:
    return ApprovalDecision(acting.call.id, approved, acting.call.arguments, reason)
