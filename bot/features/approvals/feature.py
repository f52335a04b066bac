"""Calls that act: a person is asked before one is made, and the turn is parked until they have
decided."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.resources import files

import structlog
from msgspec import Raw
from msgspec.json import decode
from msgspec.structs import replace

from bot.agent.turn import ActingCall, ApprovalDecision
from bot.channels import Delivery, InboundEvent, Reply
from bot.errors import TurnParked
from bot.features.approvals.answers import CHANGED, DECISIONS, REJECTED, Reading, is_addressed
from bot.features.approvals.questions import (
    Question,
    card_of,
    question_about,
    sentence,
    settled_sentence,
    with_remarks,
)
from bot.features.approvals.review import Reviewers, Vote
from bot.features.approvals.rules import decide_at_once, decide_by_votes
from bot.features.approvals.settings import Config
from bot.pipeline.feature import CallingTurn, Decisions, Feature, ParkedTurn, rejected
from bot.pipeline.journal import DECIDED, PARKED, Parked, readable
from bot.pipeline.select import parse
from bot.pipeline.services import Services
from bot.store import Lease
from bot.texts import language_for
from bot.transcript import Author, Spending, Usage, channel_of, encode, new_id

log = structlog.stdlib.get_logger(__name__)

EXPIRED = "approval expired"
OUTCOMES = {EXPIRED: "expired", CHANGED: "changed"}  # rows of the catalogue, by the reason of a no


class Approvals(Feature, Decisions):
    """The feature (``bot.pipeline.feature.Feature``)."""

    actions = dict.fromkeys(DECISIONS)  # a turn reads them

    def __init__(self, services: Services, config: Config) -> None:
        self._services = services
        self._store = services.store
        self._texts = services.texts
        self._config = config
        prompt = files(__package__).joinpath("prompt.md").read_text("utf-8").strip()
        self._reviewers = Reviewers(services.other_models, prompt, services.metrics)

    async def may_call(self, turn: CallingTurn, acting: ActingCall) -> ApprovalDecision:
        """Decide about a call at once, or ask a person. Reviewers vote first."""
        call, conversation = acting.call, turn.lease.conversation
        default = self._services.default_language(acting.asker.id)
        language = language_for(acting.text, acting.asker.locale, default)
        place = self._services.settings_of(conversation, acting.asker.id)
        config = self._config.with_approvers(place.approvers)
        at_once = decide_at_once(config, acting, language)
        if at_once is not None:
            return at_once
        spend = partial(self._spend, conversation, acting.asker)
        votes = await self._reviewers.vote(acting, spend, place.reviewers)
        waiting = readable(await self._store.inbox.read(conversation))
        arrivals = [event for _, event in waiting]
        if any(parse(event, self._services.commands).is_stop for event in arrivals):
            return rejected(call.id, REJECTED)
        if any(event.is_change and event.target in turn.answered for event in arrivals):
            return rejected(call.id, CHANGED)
        voted = decide_by_votes(config, acting, votes, arrivals)
        if voted is None:
            raise await self._ask(turn, acting, votes, language)
        await self._store.journal.record(turn.lease, DECIDED, encode(voted))
        outcome = "approved" if voted.approved else "rejected"
        log.info("approval.voted", tool=call.name, outcome=outcome)
        return voted

    async def _ask(
        self, turn: CallingTurn, acting: ActingCall, votes: Sequence[Vote], language: str
    ) -> TurnParked:
        """Ask a person, and record that."""
        lease = turn.lease
        until = await self._store.now_ms(lease.conversation) + self._config.approval_ttl_s * 1000
        question = question_about(acting, until, turn.address, language)
        question = with_remarks(question, acting, votes, self._texts)
        channel = self._services.channels[channel_of(lease.conversation)]
        # It invites words only where the bot receives them.
        with_words = not channel.place(lease.conversation).overhears
        text = sentence(question, self._texts, with_words=with_words)
        card = card_of(question, self._texts)
        reply = Reply(text, card=card)
        delivery = Delivery(question.id, turn.turn_id, reply, turn.address, asker=acting.asker.id)
        parked = Parked(card, Raw(encode(question)))
        await self._store.journal.record(lease, PARKED, encode(parked), sends=encode(delivery))
        log.info("approval.asked", tool=acting.call.name)
        return TurnParked(until, 0)  # what waits already is read at once: it may end the question

    async def _spend(self, conversation: str, asker: Author, model: str, usage: Usage) -> None:
        spending = Spending(model, usage, asker, 0, is_first=False)
        self._services.features.limits.spend(conversation, spending)

    async def read_decision(self, turn: ParkedTurn) -> None:
        """Record the first decision in the inbox. Button presses of people who may not decide are
        refused."""
        lease, question = turn.lease, decode(turn.value, type=Question)
        # The time is read before the inbox, which so holds whatever came in time.
        now = await self._store.now_ms(lease.conversation)
        inbox = await self._store.inbox.read(lease.conversation)
        commands = self._services.commands
        waiting = [(entry, parse(event, commands)) for entry, event in readable(inbox)]
        # What cannot be read waits too: the turn would be taken again at once, and for ever.
        remaining, unclear = len(inbox), None
        changed = {one.event.target for _, one in waiting if one.event.is_change}
        place = self._services.settings_of(lease.conversation, question.asker_id)
        config = self._config.with_approvers(place.approvers)
        reading = Reading(self._services, config, turn, question, changed)
        # What makes the question void counts before all others.
        ended = [one for one in waiting if reading.ends(one[1])]
        for entry, parsed in ended[:1] or waiting:
            event = parsed.event
            is_press = event.action in DECISIONS
            is_late = (entry.accepted_at or now) > question.until
            decided = None if is_late else reading.decision(entry, parsed)
            if decided is not None:
                answers = (entry.frame,) if is_press else ()
                await self._settle(turn, question, decided, event.message.author, answers)
                return
            if is_press:
                is_open = event.target == question.id and not is_late
                key = "card.not_yours" if is_open else "card.over"
                text = self._texts.get(key, question.language)
                await self._notify(turn, text, event.address, answers=entry.frame)
                remaining -= 1
            elif reading.is_unclear(event):
                unclear = event
        if now < question.until:
            if unclear is not None:
                await self._explain(reading, unclear)
            raise TurnParked(question.until, remaining)
        await self._settle(turn, question, rejected(question.call_id, EXPIRED))

    async def _settle(
        self,
        turn: ParkedTurn,
        question: Question,
        decided: ApprovalDecision,
        author: Author | None = None,
        answers: tuple[bytes, ...] = (),
    ) -> None:
        decided = replace(decided, by=author.id if author else "")
        outcome = OUTCOMES.get(decided.reason, "rejected")
        if decided.approved:
            outcome = "approved"
        text = settled_sentence(question, outcome, author.name if author else "", self._texts)
        reply = Reply(text, replaces=question.id)
        turn_id = turn.journalled.turn_id
        delivery = Delivery(f"{question.id}_settled", turn_id, reply, question.address)
        await self._store.journal.record(
            turn.lease, DECIDED, encode(decided), sends=encode(delivery), answers=answers
        )
        log.info("approval.decided", tool=question.tool, outcome=outcome)

    async def _notify(
        self, turn: ParkedTurn, text: str, address: str, *, answers: bytes = b""
    ) -> None:
        """Say something to one person beside the turn.

        Args:
            answers: the frame of an entry in the inbox.
        """
        reply = Reply(text, private=True)
        delivery = Delivery(new_id("notice"), turn.journalled.turn_id, reply, address)
        await self._store.journal.dismiss(turn.lease, answers, encode(delivery))

    async def _explain(self, reading: Reading, event: InboundEvent) -> None:
        """Explain once how to answer a question, as the asker's message looks like an answer and is
        none."""
        question = reading.question
        if await self._is_first(f"unclear:{question.id}"):
            key = "unclear" if reading.is_whole else "unseen"
            text = self._texts.get(f"approval.{key}", question.language)
            await self._notify(reading.turn, text, event.address)

    async def while_waiting(
        self,
        lease: Lease,
        asked: InboundEvent | None = None,
        parked: ParkedTurn | None = None,
    ) -> float | None:
        """Say once to everybody whose messages wait behind another person's question that they
        do; where addresses expire, they get a button."""
        conversation = lease.conversation
        channel = self._services.channels[channel_of(conversation)]
        if parked is None or channel.abilities.expires:
            return None
        card = parked.card
        for _, event in readable(await self._store.inbox.read(conversation)):
            is_others = event.group and event.author_id not in ("", card.asker_id)
            if not (is_others and is_addressed(event)):
                continue
            if await self._is_first(f"waiting:{channel.name}:{card.key}:{event.author_id}"):
                language = await self._services.known_language(conversation, event)
                text = self._texts.get("approval.waiting", language)
                await self._notify(parked, text, event.address)
        return None

    async def _is_first(self, name: str) -> bool:
        """Whether something has not been said about a question before."""
        return await self._store.kv.set_if_absent(name, self._config.approval_ttl_s + 1)

    def announce(self, event: InboundEvent, refusal: str) -> Reply | None:
        """That the question of a press is not open."""
        if event.action not in DECISIONS:
            return None
        return Reply(self._services.sentence("card.over", event), private=True)


FEATURE = Approvals
