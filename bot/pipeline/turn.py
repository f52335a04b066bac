"""Turns: the inbox becomes a transcript, the agent answers, and one commit stores history, outbox
and journal.

A turn without a commit stays in its journal, and the next holder of the lease goes on with it: any
number of times while each attempt records a step, a few times while none does.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from msgspec.structs import replace

from bot.channels import Delivery, InboundEvent, Reply
from bot.clock import now_ms
from bot.errors import LeaseLost, MessagesChanged, StoreUnavailable, TurnParked
from bot.pipeline.answer import Answerer
from bot.pipeline.commands import Commands
from bot.pipeline.feature import (
    CommandContext,
    Feature,
    Outgoing,
    ParkedTurn,
    ParsedEvent,
    TurnResult,
)
from bot.pipeline.history import KEEP_TURNS, asked_in, encode_turn, own_message
from bot.pipeline.journal import (
    DECIDED,
    TurnJournal,
    empty_reply,
    newest_address,
    read_entries,
    read_waiting,
    readable,
    readable_events,
)
from bot.pipeline.prepare import Attempt, index
from bot.pipeline.select import observe_use, parse, triage, unsent_among
from bot.pipeline.services import MAX_FAILURES, REST_MS, Services
from bot.store import ALWAYS, Condition, InboxEntry, JournalledTurn, Lease
from bot.telemetry import Span
from bot.telemetry.observed import OBSERVER, CommitBegun, ShareFailed
from bot.transcript import TurnRecord, channel_of, encode, new_id

log = structlog.stdlib.get_logger(__name__)

# Starts without a new journal entry: a turn may kill its process only so often.
MAX_STARTS = 5


class TurnRunner:
    """Takes turns, each under its conversation's lease."""

    def __init__(self, services: Services, answerer: Answerer) -> None:
        self._services = services
        self._store = services.store
        self._features = services.features
        self._commands = Commands(services)
        self._answerer = answerer

    async def take(
        self, lease: Lease, journalled: JournalledTurn, *, quietly: bool = False
    ) -> Delivery | int | None:
        """Take a turn to its commit, or read the decision that it waits for.

        Args:
            quietly: show nothing of the answer before it is delivered.

        Returns:
            The head of the outbox, stored as attempted; or, if the turn failed and rests, when to
            try again (ms of the store's clock). None if neither is known.

        Raises:
            LeaseLost: another process has the turn; nothing was committed here.
            TurnParked: the turn waits in its journal for a decision.
            StoreUnavailable: the turn stays in its journal.
        """
        if journalled.not_before:
            return journalled.not_before
        channel, features = self._services.channel(lease.conversation), self._features
        if channel is None or journalled.starts > MAX_STARTS:
            reason = f"started {MAX_STARTS} times without getting on"
            if channel is None:
                reason = f"the channel {channel_of(lease.conversation)} is switched off"
            await self._give_up(lease, journalled, reason)
            return None
        try:
            journal = read_entries(journalled.entries)
            # A turn goes on after the deliveries that come of these.
            if (parked := journal.parked) is not None:
                parked_turn = ParkedTurn(
                    lease, journalled, parked.card, parked.value, journal.all_events
                )
                await self._decide(parked_turn)
                return None
            if not journal.steps and any(event.is_change for event in journal.events):
                for go_on in features.hooks(Feature.begin_with_changes):
                    if await go_on(lease, journal.events):
                        return None
            events = journal.all_events
            attempt = Attempt(self._services, lease, journalled, events, quietly=quietly)
            return await self._answer(attempt, journal)
        except MessagesChanged:
            log.info("turn.restarted")
            # The turn goes on from its journal, as after a crash, and checks the inbox first.
            return None
        except (LeaseLost, TurnParked, StoreUnavailable):
            raise
        except Exception as error:
            # The next attempt may succeed. Details go to the log.
            log.exception("turn.crashed")
            _observe_failure("crashed", type(error).__name__)
            return await self._try_again(lease, journalled, type(error).__name__)

    async def _answer(self, attempt: Attempt, journal: TurnJournal) -> Delivery | None:
        """Answer what the turn began with, and commit that; the head of the outbox, see
        ``take``."""
        conversation = attempt.lease.conversation
        measured = Span("turn", self._services.metrics)
        events, result = await self._run_without_model(attempt, journal)
        unless, is_alone = ALWAYS, not (result.messages or result.replies)
        if events:
            if events[-1].unmentioned:  # only features answer those
                answer = await self._features.answer_overheard(conversation, events)
            else:
                answer = await self._answerer.answer(attempt, events, journal.steps)
            result.messages += answer.messages
            result.replies += answer.replies
            result.model, result.answers = answer.model, answer.answers
            result.asker = answer.asker or result.asker
            if answer.replies and events[0].scheduled:
                await self._note_tasks(conversation, events, result, failed=answer.failed)
            unless = Condition(
                () if attempt.is_blocked else asked_in(answer.messages),
                only_unsent=not attempt.may_be_edited,
            )
            result.may_be_reopened = is_alone and answer.may_be_reopened
        is_begun = events or attempt.journalled.is_resumed
        if attempt.channel.abilities.deletes and is_begun and not result.replies:
            # Nobody gets an answer: what this attempt or an earlier one has streamed goes.
            nothing = empty_reply(attempt.journalled.turn_id)
            back = Outgoing(nothing, newest_address(journal.all_events), deletes=True)
            result.replies.append(back)
        delivery = await self._commit(attempt.lease, attempt.journalled, result, unless=unless)
        await attempt.finish()
        if result.failed:
            measured.end("turn.failed", "failed", messages=len(result.messages))
        else:
            measured.end("turn.answered", "answered", messages=len(result.messages))
        return delivery

    async def _note_tasks(
        self, conversation: str, events: Sequence[InboundEvent], result: TurnResult, *, failed: bool
    ) -> None:
        """Tell features what has become of their tasks among the events."""
        for event in events:
            if event.scheduled == "task":
                for reply in await self._features.each(
                    Feature.after_turn, conversation, event, failed=failed
                ):
                    if reply:
                        result.say(reply, event.address)

    async def _decide(self, turn: ParkedTurn) -> None:
        """Have the answers to the open question read. Commands of other people run meanwhile."""
        lease, features = turn.lease, self._features
        try:
            if decided := await features.decisions.read_decision(turn):
                await self._store.journal.record(lease, DECIDED, encode(decided))
        except TurnParked as waiting:
            inbox = await read_waiting(self._store, lease.conversation)
            if unsent := unsent_among(inbox):
                # The turn reads after the question that they are taken back.
                await features.each(Feature.change, lease, dict.fromkeys(unsent), ())
            known = waiting.known - await self._run_others_commands(turn)
            until = waiting.until
            if known:
                next_s = await features.while_waiting(lease, parked=turn)
                if next_s is not None:
                    now = await self._store.now_ms(lease.conversation)
                    until = min(until, now + round(next_s * 1000) + 1)
            raise TurnParked(until, known) from waiting

    async def _run_others_commands(self, turn: ParkedTurn) -> int:
        """Run the commands of people whom the question does not ask, and have unmentioned messages
        answered.

        Returns:
            The number of inbox entries that are done.
        """
        lease, asker_id, done = turn.lease, turn.card.asker_id, set[bytes]()
        waiting = readable(await self._store.inbox.read(lease.conversation))
        for entry, event in waiting:
            may_answer = asker_id and event.author_id == asker_id and not event.unmentioned
            if event.event != "message" or may_answer or entry.frame in done:
                continue
            await index(self._services, lease.conversation, [event])
            parsed = parse(event, self._services.commands)
            if parsed.is_stop or not (parsed.command or event.unmentioned):
                continue
            turn_id = f"{turn.journalled.turn_id}_{event.message.id}"
            await self._run_beside(lease, turn_id, entry, parsed)
            done.add(entry.frame)
            if parsed.forgets:
                for one, other in waiting:
                    if other.author_id == event.author_id and one.frame not in done:
                        await self._store.journal.dismiss(lease, one.frame, b"")
                        done.add(one.frame)
        return len(done)

    async def _run_beside(
        self, lease: Lease, turn_id: str, entry: InboxEntry, parsed: ParsedEvent
    ) -> None:
        """Run a command, or have a message answered, and leave the turn under way as it is."""
        event, command, _ = parsed
        features, result = self._features, TurnResult()
        if await features.limits.admit(lease.conversation, turn_id, [parsed], result):
            if command:
                context = CommandContext(lease, event, ends_turn=False)
                result.say(await self._commands.run(command, context), event.address)
            else:
                result = await features.answer_overheard(lease.conversation, [event])
        sent = b""
        if result.replies:
            reply = result.replies[0].reply
            delivery = Delivery(
                new_id("reply"),
                turn_id,
                reply,
                await self._services.current_address(lease, event, reply),
                asker=event.author_id,
                answers=() if command else (event.message.id,),
            )
            sent = encode(delivery)
        await self._store.journal.dismiss(lease, entry.frame, sent)

    async def _try_again(self, lease: Lease, journalled: JournalledTurn, reason: str) -> int | None:
        failures = await self._store.journal.fail(lease, reason, REST_MS)
        if failures.times < MAX_FAILURES:
            return failures.retry_at
        await self._give_up(lease, journalled, f"failed {failures.times} times: {reason}")
        return None

    async def _give_up(self, lease: Lease, journalled: JournalledTurn, reason: str) -> None:
        """Give a turn up: its messages become a dead letter, and their authors get an apology."""
        # Messages may have joined since the journal was read.
        journalled = await self._store.journal.begin(lease, journalled.turn_id) or journalled
        try:
            result = await self._crash_apology(lease, journalled, reason)
            await self._note_tasks(
                lease.conversation, readable_events(journalled.entries), result, failed=True
            )
            await self._commit(lease, journalled, result, given_up=reason)
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception:
            # The turn must end, if need be without a word to its author.
            log.exception("turn.not_apologised")
            await self._store.journal.commit(lease, None, (), KEEP_TURNS, reason)
        self._services.metrics.turns.labels("failed").inc()
        log.error("turn.given_up", cause=reason)
        _observe_failure("given_up", reason)
        await self._services.alerts.notice("dead_letters", reason)

    async def _crash_apology(
        self, lease: Lease, journalled: JournalledTurn, reason: str
    ) -> TurnResult:
        events = readable_events(journalled.entries)
        batch = triage(parse(event, self._services.commands) for event in events)
        asked = [event.message for event in batch.messages if not event.unmentioned]
        is_awaited = bool(asked or batch.commands or batch.canned or batch.presses or not events)
        if not is_awaited or self._services.channel(lease.conversation) is None:
            return TurnResult()
        language = self._services.default_language()
        if events:
            language = await self._services.known_language(lease.conversation, events[-1])
        text = self._services.texts.get("apology.crashed", language)
        reply = Reply(text, failure=f"{reason}, see the log")
        result = TurnResult(replies=[Outgoing(reply, newest_address(events))])
        if asked:
            result.messages = (*asked, own_message(text))
        return result

    async def _run_without_model(
        self, attempt: Attempt, journal: TurnJournal
    ) -> tuple[list[InboundEvent], TurnResult]:
        """Do what needs no model: limits, edits, canned answers, commands.

        Returns:
            The messages for the model, and what the turn leaves so far.
        """
        lease, result = attempt.lease, TurnResult()
        batch = [parse(event, self._services.commands) for event in journal.events]
        if not journal.steps:
            # With steps, an earlier attempt has checked the limits.
            batch = await self._begin(attempt, batch, result)
        found = triage(batch)
        if found.left or found.edited or found.commands:
            attempt.history_changed = True
        for event in found.left:
            await self._features.each(Feature.leave, lease, event)
        if found.edited:
            await attempt.change_history([event for event, *_ in batch], found.edited)
        tasks = [event for event in found.messages if event.scheduled]
        for event in found.shown + tasks:
            reply = self._features.announce(event)
            if reply is None:
                continue
            result.say(reply, event.address, event.author_id)
            if event.scheduled == "shown":
                result.messages += (event.message, own_message(reply.text))
        for event in await self._services.known(lease.conversation, found.canned):
            sentence = self._commands.sentence(event.target, lease.conversation, event)
            result.say(sentence, event.address)
        for event in await self._services.known(lease.conversation, found.presses):
            if (reply := self._features.announce(event)) is not None:
                result.say(reply, event.address)
        for last in await self._services.known(lease.conversation, found.superseded[-1:]):
            result.messages += tuple(event.message for event in found.superseded)
            if not found.commands:
                result.say(
                    self._commands.sentence("apology.stopped", lease.conversation, last),
                    last.address,
                )
        for one in found.commands:
            event, command, _ = one
            context = CommandContext(lease, event, bool(found.superseded))
            reply = await self._commands.run(command or "", context)
            result.say(reply, event.address)
            if command not in self._features.unrecorded:
                result.messages += (event.message, own_message(reply.text))
            if one.forgets:
                result.messages, result.asker = (), ""
        return found.messages, result

    async def _begin(
        self, attempt: Attempt, batch: list[ParsedEvent], result: TurnResult
    ) -> list[ParsedEvent]:
        """Choose what a turn without steps answers. Refusals for a day's limits are added to the
        result."""
        batch = await attempt.begin(batch)
        for event, *_ in batch:
            if event.address:
                result.asker = event.author_id
        if attempt.journalled.is_reopened:
            # The turn's messages have been admitted, and an edit is no message.
            return batch
        conversation, limits = attempt.lease.conversation, self._features.limits
        turn_id = attempt.journalled.turn_id
        admitted = list(await limits.admit(conversation, turn_id, batch, result))
        for one in batch:
            if one not in admitted:
                observe_use(one.event, "refused")
        return admitted

    async def _commit(
        self,
        lease: Lease,
        journalled: JournalledTurn,
        result: TurnResult,
        given_up: str = "",
        unless: Condition = ALWAYS,
    ) -> Delivery | None:
        """End the turn.

        Returns:
            The first delivery, if it is the head of the outbox. It is stored as attempted: the
            attempt follows at once.

        Raises:
            MessagesChanged: see ``Condition``.
        """
        turn_id, deliveries = journalled.turn_id, await self._deliveries(lease, journalled, result)
        entry, head, attempted = None, None, b""
        if result.messages:
            model = result.model or self._services.model_of(lease.conversation).model
            entry = encode_turn(TurnRecord(turn_id, now_ms(), model, result.messages))
        if deliveries and not given_up:
            head = replace(deliveries[0], attempts=1)
            attempted = encode(head)
        if observe := OBSERVER.get():
            observe(CommitBegun("failed" if given_up or result.failed else "answered"))
        is_head = await self._store.journal.commit(
            lease,
            entry,
            [encode(delivery) for delivery in deliveries],
            KEEP_TURNS,
            given_up=given_up,
            attempted=attempted,
            unless=unless,
        )
        return head if is_head else None

    async def _deliveries(
        self, lease: Lease, journalled: JournalledTurn, result: TurnResult
    ) -> list[Delivery]:
        if (channel := self._services.channel(lease.conversation)) is None:
            return []
        answered = result.asker
        for message in result.messages:
            if message.role == "user" and message.author:
                answered = message.author.id
        asked = (*result.answers, *asked_in(result.messages))
        turn_id, deliveries = journalled.turn_id, list[Delivery]()
        events = readable_events(journalled.entries)
        by_address = {event.address: event for event in events}
        for reply, address, whose, is_deletion in result.replies:
            asker, current = whose or answered, address
            if events:
                # What has joined the turn since it began has the same author.
                event = replace(by_address.get(address, events[-1]), address=address)
                current = await self._services.current_address(lease, event, reply)
            for part in [reply] if is_deletion else channel.split(reply):
                delivery = Delivery(
                    f"{turn_id}_{len(deliveries) + 1}",
                    turn_id,
                    part,
                    current,
                    asker=asker,
                    answers=asked,
                    more_kept=journalled.keeps,
                    may_be_reopened=result.may_be_reopened,
                    deletes=() if is_deletion else None,
                )
                deliveries.append(delivery)
        return deliveries


def _observe_failure(outcome: str, cause: str) -> None:
    if observe := OBSERVER.get():
        observe(ShareFailed(outcome, cause))
