"""Turns: the inbox becomes a transcript, the agent answers, and one commit stores history, outbox and journal.

A turn without a commit stays in its journal, and the next holder of the lease goes on with it: any number of times
while each attempt records a step, a few times while none does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import structlog
from msgspec.structs import replace

from bot.agent.loop import STOPPED, Agent
from bot.agent.turn import (
    NOBODY,
    ActingCall,
    ApprovalDecision,
    RecordedResponse,
    StartedCall,
    ToolStores,
    Turn,
    TurnContext,
    TurnStep,
    TurnUpdate,
)
from bot.channels import MOST_FILES, Channel, Delivery, InboundEvent, Reply
from bot.clock import now_ms, usable_zone
from bot.conversation.admission import Admission
from bot.conversation.alerts import ALARMING
from bot.conversation.approvals import Approvals
from bot.conversation.cancellation import CancelRegistry
from bot.conversation.commands import UNRECORDED, CommandContext, Commands, choice_in
from bot.conversation.edits import HistoryEditor
from bot.conversation.files import ToolFiles
from bot.conversation.history import KEEP_TURNS, HistoryWindow
from bot.conversation.inbound import InboundMessages
from bot.conversation.journal import (
    RESPONSE,
    RESULT,
    STARTED,
    Step,
    TurnJournal,
    read_entries,
    readable,
    readable_events,
)
from bot.conversation.limits import Standing
from bot.conversation.lists import ToolLists
from bot.conversation.media import IN_FLIGHT, Allowance, TurnMedia
from bot.conversation.memory import ToolFacts, facts_message, memory_of
from bot.conversation.polls import polls_of, show_poll
from bot.conversation.reminders import note_outcome, reminders_of
from bot.conversation.services import Services
from bot.conversation.sources import source_lists
from bot.conversation.triage import ParsedEvent, parse, triage
from bot.errors import AwaitingApproval, LeaseLost, ModelError, StoreUnavailable, TurnFailed
from bot.live_events import AnswerRestarted, NoWatcher, TurnStarted, Watcher
from bot.store import InboxEntry, JournalledTurn, Lease
from bot.telemetry import Span, span
from bot.texts import language_of
from bot.transcript import Message, Spending, Text, ToolResult, TurnRecord, channel_of, encode, new_id

log = structlog.stdlib.get_logger(__name__)

TURN_S = 300.0
YOUNG_S = 0.01  # after its beginning a new turn has taken all that was in the inbox
MAX_STARTS = 5  # without a new journal entry: a turn may kill its process only so often
MAX_FAILURES = 3  # with the same unforeseen exception
REST_MS = 1_000  # after the first failure; doubled after each further one
KINDS: dict[type[TurnStep], str] = {RecordedResponse: RESPONSE, StartedCall: STARTED, ToolResult: RESULT}


@dataclass(slots=True)
class TurnResult:
    """What a turn commits: messages for the history, replies with their addresses, the model that answered."""

    messages: tuple[Message, ...] = ()
    replies: list[tuple[Reply, str]] = field(default_factory=list)
    model: str = ""

    def add(self, messages: Sequence[Message], replies: Sequence[tuple[Reply, str]], model: str = "") -> None:
        """Add messages and replies."""
        self.messages = (*self.messages, *messages)
        self.replies += replies
        self.model = model or self.model


class Taken(NamedTuple):
    """The end of an attempt at a turn.

    Attributes:
        again_at: when to try again (ms of the store's clock) if the turn failed and rests.
        delivery: the head of the outbox, stored as attempted; None if that is unknown.
    """

    again_at: int | None = None
    delivery: Delivery | None = None


@dataclass(slots=True)
class Attempt:
    """One attempt at a turn.

    Attributes:
        standing: the author's, as the turn began.
        quietly: show nothing of the answer before it is delivered.
        history_changed: since the turn began.
        begun_at: ``time.monotonic()`` of the attempt.
    """

    lease: Lease
    channel: Channel
    journalled: JournalledTurn
    inbound: InboundMessages
    standing: Standing | None
    quietly: bool
    history_changed: bool = False
    begun_at: float = field(default_factory=time.monotonic)

    @property
    def turn_id(self) -> str:
        """The turn's id, the same in each attempt."""
        return self.journalled.turn_id


def _end(measured: Span, result: TurnResult) -> None:
    if any(reply.failed for reply, _ in result.replies):
        measured.end("turn.failed", "failed", messages=len(result.messages))
    else:
        measured.end("turn.answered", "answered", messages=len(result.messages))


class ConversationPorts:
    """The ports of one turn (``bot.agent.turn.TurnPorts``), fenced by the lease.

    Raises:
        LeaseLost: another process has the turn; nothing more may happen here.
        StoreUnavailable: the step is not recorded, so the turn must not take the next one.
    """

    def __init__(self, services: Services, attempt: Attempt, approvals: Approvals, watcher: Watcher) -> None:
        self._services = services
        self._lease = attempt.lease
        self._turn_id = attempt.turn_id
        self._inbound = attempt.inbound
        self._approvals = approvals
        self._watcher = watcher
        is_old = attempt.journalled.is_resumed or time.monotonic() - attempt.begun_at > YOUNG_S
        self._waiting = is_old or attempt.inbound.has_left_some  # the inbox may hold something

    async def record(self, step: TurnStep) -> None:
        if isinstance(step, RecordedResponse) and not step.message.calls:
            return  # the commit follows and stores the message
        # Records of parallel results may return in any order: only True is set here, never False.
        if await self._services.store.journal.record(self._lease, KINDS[type(step)], encode(step)):
            self._waiting = True

    async def check_inbox(self, *, certain: bool) -> TurnUpdate:
        if not (self._waiting or certain):
            return TurnUpdate()
        self._waiting = False
        return await self._inbound.check(self._watcher)

    async def review(self, acting: ActingCall) -> ApprovalDecision:
        decision = await self._approvals.review(self._lease, self._turn_id, self._inbound.address, acting)
        self._inbound.note_decision(decision)
        return decision

    async def spend(self, spending: Spending) -> None:
        if spending.refusal:
            await self._services.alerts.notice("server_tools_refused", spending.refusal)
        await self._services.budgets.spend(self._lease.conversation, spending, self._turn_id)


class TurnRunner:
    """Takes turns, each under its conversation's lease."""

    def __init__(self, services: Services, agent: Agent, window: HistoryWindow, cancellations: CancelRegistry) -> None:
        self._services = services
        self._store = services.store
        self._agent = agent
        self._window = window
        self._cancellations = cancellations
        self._editor = HistoryEditor(services.store, services.defaults.history_days, agent.tools.forget)
        self._approvals = Approvals(services)
        self._admission = Admission(services)
        self._commands = Commands(services, self._editor, self._admission, agent.tools)
        self._media = Allowance(IN_FLIGHT)

    async def take(
        self, lease: Lease, journalled: JournalledTurn, standing: Standing | None = None, *, quietly: bool = False
    ) -> Taken:
        """Take a turn to its commit, or read the decision that it waits for.

        Args:
            standing: of the author, if it was read already.
            quietly: show nothing of the answer before it is delivered.

        Raises:
            LeaseLost: another process has the turn; nothing was committed here.
            AwaitingApproval: the turn waits in its journal for a person.
            StoreUnavailable: the turn stays in its journal.
        """
        if journalled.not_before:
            return Taken(again_at=journalled.not_before)
        channel = self._services.channel(lease.conversation)
        if channel is None or journalled.starts > MAX_STARTS:
            off = f"the channel {channel_of(lease.conversation)} is switched off"
            await self._give_up(lease, journalled, f"started {MAX_STARTS} times without getting on" if channel else off)
            return Taken()
        try:
            journal = read_entries(journalled.entries)
            if journal.open_question is not None:
                await self._decide(lease, channel, journalled, journal)
                return Taken()  # the turn goes on after the delivery of the decision
            inbound = InboundMessages(self._services, lease, self._editor)
            attempt = Attempt(lease, channel, journalled, inbound, standing, quietly)
            return Taken(delivery=await self._attempt(attempt, journal))
        except (LeaseLost, AwaitingApproval, StoreUnavailable):
            raise
        except Exception as error:  # the next attempt may succeed; details go to the log
            log.exception("turn.crashed")
            return Taken(again_at=await self._try_again(lease, journalled, type(error).__name__))
        finally:
            self._services.budgets.count(journalled.turn_id)  # however the attempt ended

    async def _attempt(self, attempt: Attempt, journal: TurnJournal) -> Delivery | None:
        """Take the turn to its commit; the head of the outbox, see ``Taken``."""
        with span("turn", self._services.metrics) as measured:
            events, result = await self._prepare(attempt, journal)
            if events:
                await self._answer(attempt, events, journal.steps, result)
            delivery = await self._commit(attempt.lease, attempt.turn_id, result)
            await attempt.inbound.finish()
            _end(measured, result)
        return delivery

    async def _decide(self, lease: Lease, channel: Channel, journalled: JournalledTurn, journal: TurnJournal) -> None:
        """Read the answers to the open question. Commands of other people run meanwhile."""
        try:
            await self._approvals.decide(lease, journalled, journal, is_prompt=channel.is_prompt)
        except AwaitingApproval as waiting:
            done = await self._run_others_commands(lease, journalled, journal.asked.question.asker_id)
            raise AwaitingApproval(waiting.until, waiting.known - done) from waiting

    async def _run_others_commands(self, lease: Lease, journalled: JournalledTurn, asker_id: str) -> int:
        """Run the commands of people whom the question does not ask; the number of inbox entries that are done."""
        done: set[bytes] = set()
        waiting = readable(await self._store.inbox.read(lease.conversation))
        for entry, event in waiting:
            if event.event != "message" or (asker_id and event.author_id == asker_id) or entry.frame in done:
                continue
            await self._editor.remember(lease.conversation, [event])  # so that /forget me finds this conversation
            parsed = parse(event, self._services.commands)
            if parsed.command in (None, "stop"):
                continue
            await self._run_beside(lease, f"{journalled.turn_id}_{event.message.id}", entry, parsed)
            done.add(entry.frame)
            if parsed.command == "forget":
                theirs = {one.frame for one, other in waiting if other.author_id == event.author_id} - done
                for frame in theirs:
                    await self._store.journal.dismiss(lease, frame, b"")
                done |= theirs
        return len(done)

    async def _run_beside(self, lease: Lease, turn_id: str, entry: InboxEntry, parsed: ParsedEvent) -> None:
        """Run a command and leave the turn under way as it is."""
        event, command = parsed
        admitted = await self._admission.admit(lease.conversation, turn_id, [parsed])
        replies = [reply for reply, _ in admitted.replies]
        if admitted.events and command:
            replies = [await self._commands.run(command, CommandContext(lease, event, ends_turn=False))]
        sends = [encode(Delivery(new_id("reply"), turn_id, reply, event.address)) for reply in replies]
        await self._store.journal.dismiss(lease, entry.frame, sends[0] if sends else b"")

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
        result = self._crash_apology(lease, journalled, reason)
        await self._commit(lease, journalled.turn_id, result, given_up=reason)
        self._services.metrics.turns.labels("failed").inc()
        log.error("turn.given_up", cause=reason)
        await self._services.alerts.notice("dead_letters", reason)

    def _crash_apology(self, lease: Lease, journalled: JournalledTurn, reason: str) -> TurnResult:
        events = readable_events(journalled.entries)
        batch = triage(parse(event, self._services.commands) for event in events)
        is_awaited = bool(batch.messages or batch.commands or batch.canned or not events)
        if not is_awaited or self._services.channel(lease.conversation) is None:
            return TurnResult()
        asked = [event.message for event in batch.messages]
        language = language_of(asked[-1].text if asked else "", self._services.defaults.language)
        text = self._services.texts.get("apology.crashed", language)
        address = next((event.address for event in reversed(events) if event.address), "")
        reply = Reply(text, failed=True, note=f"{reason}, see the log")
        return TurnResult((*asked, _own_message(text)) if asked else (), [(reply, address)])

    async def _prepare(self, attempt: Attempt, journal: TurnJournal) -> tuple[list[InboundEvent], TurnResult]:
        """Do what needs no model: limits, edits, canned answers, commands.

        Returns:
            The messages for the model, and what the turn leaves so far.
        """
        lease, result = attempt.lease, TurnResult()
        batch = [parse(event, self._services.commands) for event in journal.events]
        if not journal.steps:  # otherwise an earlier attempt has checked the limits
            batch = await attempt.inbound.begin(batch)
            admitted = await self._admission.admit(lease.conversation, attempt.turn_id, batch, attempt.standing)
            result.add(admitted.messages, admitted.replies)
            batch = admitted.events
        found = triage(batch)
        if found.conversation_deleted or found.edited or found.commands:
            attempt.history_changed = True
        if found.conversation_deleted:
            await self._editor.delete_conversation(lease, found.conversation_deleted)
        await self._editor.apply(lease, found.edited)
        for event in (*found.reminders, *(event for event in found.messages if event.reminder == "late_routine")):
            reply = self._commands.reminder(event)
            messages = () if event.is_routine else (event.message, _own_message(reply.text))
            result.add(messages, [(reply, event.address)])
        canned = found.canned and await attempt.channel.enrich(lease.conversation, found.canned, is_new=False)
        for event in canned:
            key = "apology.left_out" if event.left_out else event.target
            sentence = replace(self._commands.sentence(key, event), private=event.event == "decision")
            result.add((), [(sentence, event.address)])
        if found.superseded:
            last = found.superseded[-1]
            stopped = [(self._commands.sentence("apology.stopped", last), last.address)]
            result.add([event.message for event in found.superseded], [] if found.commands else stopped)
        for command, event in found.commands:
            reply = await self._commands.run(command, CommandContext(lease, event, bool(found.superseded)))
            said = [] if command in UNRECORDED else [event.message, _own_message(reply.text)]
            result.add(said, [(reply, event.address)])
            if command == "forget":
                result.messages = ()
        return found.messages, result

    async def _commit(self, lease: Lease, turn_id: str, result: TurnResult, given_up: str = "") -> Delivery | None:
        """End the turn.

        Returns:
            The first delivery, if it is the head of the outbox. It is stored as attempted: the attempt follows at once.
        """
        channel = self._services.channel(lease.conversation)
        parts = [(part, address) for reply, address in result.replies if channel for part in channel.split(reply)]
        authors = (message.author for message in reversed(result.messages) if message.role == "user")
        asker = next((author.id for author in authors if author), "")
        deliveries = [
            Delivery(f"{turn_id}_{number}", turn_id, reply, address, asker=asker)
            for number, (reply, address) in enumerate(parts, 1)
        ]
        record = TurnRecord(turn_id, now_ms(), result.model or self._agent.provider.model, result.messages)
        entry = encode(record) if result.messages else None
        self._services.budgets.count(turn_id)  # together with the commit
        head = replace(deliveries[0], attempts=1) if deliveries and not given_up else None
        stored, attempted = [encode(delivery) for delivery in deliveries], encode(head) if head else b""
        is_head = await self._store.journal.commit(lease, entry, stored, KEEP_TURNS, given_up, attempted)
        return head if is_head else None

    async def _answer(
        self, attempt: Attempt, events: list[InboundEvent], steps: list[Step], result: TurnResult
    ) -> None:
        """Have the agent answer messages; there is no reply if all were taken back meanwhile.

        Args:
            events: the messages that the turn began with.
            steps: what earlier attempts have recorded.

        Raises:
            LeaseLost: another process has the turn.
            AwaitingApproval: the turn waits for a person.
            StoreUnavailable: the turn stays in its journal.
        """
        conversation, channel, inbound = attempt.lease.conversation, attempt.channel, attempt.inbound
        view = nullcontext(NoWatcher()) if attempt.quietly else channel.live_view(conversation, events[-1].address)
        async with TurnMedia(self._media, channel, conversation) as media, view as watcher:
            await watcher.show(TurnStarted(attempt.turn_id, tuple(event.message.id for event in events)))
            turn = await self._new_turn(attempt, events, watcher, media)
            for step in steps:
                await self._restore(turn, step, inbound)
            try:
                async with asyncio.timeout(TURN_S) as limit:
                    with self._cancellations.track(conversation, limit) as run:
                        may_be_to_stop = turn.open_calls() or self._cancellations.take_missed(conversation)
                        if may_be_to_stop and await inbound.is_to_stop():  # before this attempt, or in its beginning
                            raise TurnFailed("stopped", STOPPED)
                        answer = await self._agent.run(turn)
            except (TurnFailed, ModelError) as error:
                reply = await self._apology(turn, error.apology, error.cause)
            except TimeoutError:
                late = "timed_out", f"the turn took longer than {TURN_S:.0f} s"
                reply = await self._apology(turn, *(("stopped", STOPPED) if run.stopped else late))
            else:
                if answer is None:
                    await watcher.show(AnswerRestarted())
                    return
                reply = self._reply(turn, answer)
            result.add(media.describe(turn.added), [await self._addressed(turn, reply, attempt)], turn.model)
            await self._note_routines(conversation, events, reply, result)

    async def _addressed(self, turn: Turn, reply: Reply, attempt: Attempt) -> tuple[Reply, str]:
        """The turn's reply, with the poll that a call has started, and its address."""
        kept_in = attempt.channel.polls_of(attempt.lease.conversation)
        return await show_poll(self._store, kept_in, turn.added, reply), attempt.inbound.address

    async def _note_routines(
        self, conversation: str, events: list[InboundEvent], reply: Reply, result: TurnResult
    ) -> None:
        """Count failures of the routines among the events; one that rests from now on says so."""
        for event in (event for event in events if event.is_routine):
            if await note_outcome(self._store, conversation, event.target, failed=reply.failed):
                result.add((), [(self._commands.sentence("reminder.rests", event), event.address)])

    async def _new_turn(self, attempt: Attempt, events: list[InboundEvent], watcher: Watcher, media: TurnMedia) -> Turn:
        """The turn before its first step, with the history and the messages it answers."""
        defaults, inbound, lease = self._services.defaults, attempt.inbound, attempt.lease
        stored = None if attempt.history_changed else attempt.journalled.history
        history = await self._window.load(lease.conversation, stored)
        asked = await inbound.receive(events, is_new=not history)
        memory = memory_of(self._services, lease.conversation, events)
        if memory and (facts := facts_message(await memory.read(), asked)):
            history.append(facts)
        author = asked[-1].author or NOBODY
        lists = ToolLists(self._store.place_lists, attempt.channel.place(lease.conversation), author.id)
        context = TurnContext(
            conversation=lease.conversation,
            style=attempt.channel.style,
            locale=author.locale or language_of(asked[-1].text, defaults.language),
            time_zone=usable_zone(author.time_zone, defaults.time_zone),
            watcher=watcher,
            load=media.load,
            tool_choice=choice_in(asked, self._agent.tools),
            stores=ToolStores(
                ToolFacts(memory) if memory else None,
                lists,
                reminders_of(self._services, lease.conversation, events[-1], author),
                ToolFiles(self._store.files, lease.conversation, author.id),
                polls_of(self._store, attempt.channel, lease.conversation, events[-1], author, defaults.language),
            ),
        )
        ports = ConversationPorts(self._services, attempt, self._approvals, watcher)
        return Turn(attempt.turn_id, context, history, asked, ports, time.monotonic() + TURN_S)

    async def _restore(self, turn: Turn, step: Step, inbound: InboundMessages) -> None:
        """Apply one step of the journal to the turn."""
        match step:
            case RecordedResponse(message, stop_reason, grounding):
                turn.restore_response(message, stop_reason, grounding)
            case ToolResult():
                turn.restore_result(step)
            case StartedCall(call_id):
                turn.restore_started(call_id)
            case ApprovalDecision():
                turn.restore_decision(step)
                inbound.note_decision(step)
            case InboundEvent():
                turn.restore_update(await inbound.join(turn.context.watcher, [parse(step, self._services.commands)]))

    async def _apology(self, turn: Turn, failure: str, cause: str) -> Reply:
        log.warning("turn.apologised", apology=failure, cause=cause)
        if (alarm := ALARMING.get(failure)) is not None:
            await self._services.alerts.notice(alarm, cause)
        stopped = failure == "stopped"
        await self._agent.close(turn, stopped=stopped)
        if stopped:
            await turn.check_inbox(certain=True)  # the apology answers the stop
        apology = self._sentence(f"apology.{failure}", turn)
        # Recorded by the commit only: after a crash the turn goes on, and may succeed.
        turn.restore_response(_own_message(apology), "end_turn")
        return Reply(apology, failed=not stopped, note="" if stopped else cause)

    def _reply(self, turn: Turn, answer: Message) -> Reply:
        sentence = partial(self._sentence, turn=turn)
        cut = () if turn.stop_reason == "end_turn" else (sentence("reply.cut"),)
        footer = "\n\n".join(source_lists(turn.grounding, sentence))
        turn.added[-1] = replace(answer, footer=footer)
        return Reply("\n\n".join(filter(None, (answer.text, *cut, footer))), files=turn.files[-MOST_FILES:])

    def _sentence(self, key: str, turn: Turn) -> str:
        return self._services.texts.get(key, language_of(turn.last_user_text, self._services.defaults.language))


def _own_message(text: str) -> Message:
    """A sentence of the catalogue as a message of the history."""
    return Message(new_id("msg"), "model", (Text(text),), now_ms())
