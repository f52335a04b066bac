"""The part of a turn that needs the model: the agent answers messages, and its ports lead to the
conversation."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from functools import partial

from msgspec.structs import replace

from bot.agent.loop import STOPPED, USUAL, Agent, choice_in
from bot.agent.turn import (
    NOBODY,
    ActingCall,
    ApprovalDecision,
    RecordedResponse,
    StartedCall,
    Turn,
    TurnContext,
    TurnStep,
    TurnUpdate,
)
from bot.channels import InboundEvent, NoWatcher, Reply
from bot.errors import LeaseLost, ModelError, TurnFailed
from bot.interrupts import Interrupt, RunningTurns
from bot.live_events import AnswerRestarted, TurnStarted, Watcher
from bot.pipeline.feature import (
    AddToAnswer,
    AnsweredTurn,
    CallingTurn,
    Feature,
    Outgoing,
    TurnRequest,
    TurnResult,
)
from bot.pipeline.history import HistoryWindow, own_message
from bot.pipeline.journal import RESPONSE, RESULT, STARTED, Parked, Step
from bot.pipeline.media import IN_FLIGHT, ByteSemaphore, TurnMedia
from bot.pipeline.prepare import Attempt
from bot.pipeline.reply import apologise, reply_of, sentence
from bot.pipeline.services import Services
from bot.telemetry.observed import OBSERVER, PersonaChosen
from bot.transcript import Message, Spending, ToolResult, channel_of, encode

TURN_S = 300.0
# A turn that began so short a time ago has just taken all that was in the inbox.
YOUNG_S = 0.01
KINDS: dict[type[TurnStep], str] = {
    RecordedResponse: RESPONSE,
    StartedCall: STARTED,
    ToolResult: RESULT,
}
LOOK_S = 10.0  # until features are told of people who wait, and between two times


class ConversationPorts:
    """The ports of one turn (``bot.agent.turn.TurnPorts``), fenced by the lease.

    Raises:
        LeaseLost: another process has the turn; nothing more may happen here.
        StoreUnavailable: the step is not recorded, so the turn must not take the next one.
    """

    def __init__(self, services: Services, attempt: Attempt, watcher: Watcher) -> None:
        self._services = services
        self._attempt = attempt
        self._watcher = watcher
        is_old = attempt.journalled.is_resumed or time.monotonic() - attempt.begun_at > YOUNG_S
        self._waiting = is_old or attempt.has_left_some  # the inbox may hold something

    async def record(self, step: TurnStep) -> None:
        if isinstance(step, RecordedResponse) and not step.message.calls:
            return  # the commit follows and stores the message
        # Records of parallel results may return in any order: only True is set here, never False.
        if await self._services.store.journal.record(
            self._attempt.lease, KINDS[type(step)], encode(step)
        ):
            self._waiting = True

    async def check_inbox(self, *, certain: bool, only_changes: bool) -> TurnUpdate:
        if not (self._waiting or certain):
            return TurnUpdate()
        self._waiting = False
        return await self._attempt.check(self._watcher, only_changes=only_changes)

    async def review(self, acting: ActingCall) -> ApprovalDecision:
        attempt, address = self._attempt, ""
        if attempt.newest:
            asked = replace(attempt.newest, address=attempt.address)
            address = await self._services.current_address(attempt.lease, asked, Reply(""))
        turn_id = attempt.journalled.turn_id
        turn = CallingTurn(attempt.lease, turn_id, address, attempt.message_ids)
        decision = await self._services.features.decisions.may_call(turn, acting)
        attempt.note_decision(decision)
        return decision

    async def spend(self, spending: Spending) -> None:
        if spending.refusal:
            await self._services.alerts.notice("server_tools_refused", spending.refusal)
        self._services.features.limits.spend(self._attempt.lease.conversation, spending)


class Answerer:
    """Has the agent answer the messages of a turn."""

    def __init__(
        self, services: Services, agent: Agent, window: HistoryWindow, interrupts: RunningTurns
    ) -> None:
        self._services = services
        self._agent = agent
        self._window = window
        self._interrupts = interrupts
        self._file_bytes = ByteSemaphore(IN_FLIGHT)

    async def answer(
        self, attempt: Attempt, events: list[InboundEvent], steps: list[Step]
    ) -> TurnResult:
        """Have the agent answer messages; the result is empty if all were taken back meanwhile.

        Args:
            events: the messages that the turn began with.
            steps: what earlier attempts have recorded.

        Raises:
            LeaseLost: another process has the turn.
            TurnParked: the turn waits for a decision.
            StoreUnavailable: the turn stays in its journal.
        """
        conversation, turn_id = attempt.lease.conversation, attempt.journalled.turn_id
        channel, features = attempt.channel, self._services.features
        view: AbstractAsyncContextManager[Watcher] = nullcontext(NoWatcher())
        if not attempt.quietly:
            view = channel.live_view(conversation, events[-1].address)
        configuration = USUAL
        for given in await features.each(Feature.configure, conversation, events[-1]):
            configuration = configuration.then(given) if given else configuration
        agent = self._agent.configured(configuration)
        read_text = partial(self._read_text, events[0].author_id or conversation)
        if observe := OBSERVER.get():
            observe(PersonaChosen(agent.persona))
        support = agent.provider.media
        async with (
            TurnMedia(self._file_bytes, channel, conversation, support, read_text) as media,
            view as watcher,
        ):
            await watcher.show(TurnStarted(turn_id, tuple(event.message.id for event in events)))
            turn = await self._new_turn(attempt, agent, events, watcher, media)
            if not steps and attempt.received and all(event.action for event in attempt.received):
                for answer_wordless in features.hooks(Feature.answer_wordless):
                    if text := answer_wordless(attempt.received, turn.history):
                        said = Outgoing(Reply(text), attempt.address)
                        return TurnResult((*turn.added, own_message(text)), [said])
            for step in steps:
                await self._restore(turn, step, attempt)
            reply = await self._run_or_apologise(turn, agent, attempt, media)
            if reply is None:
                await watcher.show(AnswerRestarted())
                return TurnResult()
            is_task = any(event.scheduled for event in events)
            is_said_by_model = not (reply.failure or turn.stopped or is_task)
            may_be_reopened = is_said_by_model and attempt.may_be_edited
            model = "" if reply.failure or turn.stopped else turn.model
            replies = []
            if reply.text:  # the model may stay silent
                answered = AnsweredTurn(conversation, turn_id, turn.added, model, agent.persona)
                replies.append(Outgoing(await self._add_to(answered, reply), attempt.address))
            return TurnResult(media.describe(turn.added), replies, turn.model, may_be_reopened)

    async def _read_text(self, person: str, mime: str, data: bytes) -> str:
        texts = await self._services.features.each(Feature.read_file, person, mime, data)
        return next(filter(None, texts), "")

    async def _add_to(self, answered: AnsweredTurn, reply: Reply) -> Reply:
        """The reply with what features add to it."""
        features = self._services.features
        adding: list[AddToAnswer] = [*features.hooks(Feature.after_answer)]
        called = {result.name for message in answered.messages for result in message.results}
        adding += [add_to for tool, add_to in features.after_calls.items() if tool in called]
        abilities = self._services.channels[channel_of(answered.conversation)].abilities
        for ability, add_to in features.where_possible.items():
            if getattr(abilities, ability):
                adding.append(add_to)
        for add_to in adding:
            reply = await add_to(answered, reply)
        return reply

    async def _run_or_apologise(
        self, turn: Turn, agent: Agent, attempt: Attempt, media: TurnMedia
    ) -> Reply | None:
        """The agent's answer, or an apology in its place; None if all messages were taken back
        meanwhile."""
        services = self._services
        conversation, restart = attempt.lease.conversation, partial(_restart, turn, attempt)
        try:
            async with asyncio.timeout(TURN_S) as limit:
                with self._interrupts.track(conversation, limit, restart) as run:
                    # What came before this attempt or in its beginning comes first.
                    has_missed = self._interrupts.take_missed(conversation)
                    if (turn.open_calls() or has_missed) and await attempt.is_to_stop():
                        raise TurnFailed("stopped", STOPPED)
                    if has_missed and not turn.open_calls():
                        await turn.check_inbox(certain=True)
                    answer: Message | None
                    if kind := media.unread_alone(turn.added):
                        # Nothing but files that the model cannot read.
                        answer = own_message(sentence(services, f"reply.cannot_{kind}", turn))
                        turn.restore(RecordedResponse(answer, "end_turn"))
                    else:
                        async with _while_waiting(services, attempt):
                            answer = await agent.run(turn)
        except (TurnFailed, ModelError) as error:
            return await apologise(services, turn, agent, error.apology, error.cause)
        except TimeoutError:
            if run.stopped:
                return await apologise(services, turn, agent, "stopped", STOPPED)
            cause = f"the turn took longer than {TURN_S:.0f} s"
            return await apologise(services, turn, agent, "timed_out", cause)
        return reply_of(services, turn, agent, answer) if answer else None

    async def _new_turn(
        self,
        attempt: Attempt,
        agent: Agent,
        events: list[InboundEvent],
        watcher: Watcher,
        media: TurnMedia,
    ) -> Turn:
        """The turn before its first step, with the history and the messages it answers."""
        services, turn_id = self._services, attempt.journalled.turn_id
        conversation, features = attempt.lease.conversation, services.features
        stored = None if attempt.history_changed else attempt.journalled.history
        history = await self._window.load(conversation, events[-1].author_id, stored)
        # The messages of a turn that goes on already quote what came before them.
        is_new = not (history or attempt.journalled.is_reopened)
        asked = await attempt.receive(events, is_new=is_new)
        request = TurnRequest(conversation, events[-1], asked[-1].author or NOBODY)
        history += filter(None, await features.each(Feature.before_model, request, asked))
        newest = attempt.received[-1]
        language = services.language(newest)
        context = TurnContext(
            conversation=conversation,
            style=attempt.channel.style,
            locale=request.author.locale or language,
            time_zone=services.time_zone(newest),
            watcher=watcher,
            load=media.load,
            tool_choice=choice_in(asked, agent.tools),
            commands=services.commands,
            tokens_left=await features.limits.tokens_left(turn_id, request),
            find_store=features.find_store(request),
            shows_pictures=attempt.channel.abilities.shows_pictures,
            withheld=services.texts.get("reply.withheld", language),
        )
        ports = ConversationPorts(services, attempt, watcher)
        return Turn(turn_id, context, history, asked, ports, deadline=time.monotonic() + TURN_S)

    async def _restore(self, turn: Turn, step: Step, attempt: Attempt) -> None:
        """Apply one step of the journal to the turn."""
        if isinstance(step, InboundEvent):
            turn.restore_update(await attempt.join(turn.context.watcher, [step]))
        elif not isinstance(step, Parked):
            turn.restore(step)
        if isinstance(step, ApprovalDecision):
            attempt.note_decision(step)


def _restart(turn: Turn, attempt: Attempt, change: Interrupt) -> None:
    """End the request to the model under way, if it was made without the change, which counts."""
    if change.event_id not in attempt.changes and (change.is_unsent or attempt.may_be_edited):
        turn.restart(change.message_id)


@asynccontextmanager
async def _while_waiting(services: Services, attempt: Attempt) -> AsyncIterator[None]:
    """Call ``Feature.while_waiting`` while the context is open; an answer that is soon ready, and
    in time for its address, calls it never."""
    channel = attempt.channel
    over, watches = asyncio.Event(), list[asyncio.Task[None]]()

    async def watch() -> None:
        while not over.is_set():
            asked = attempt.newest and replace(attempt.newest, address=attempt.address)
            try:
                pause_s = await services.features.while_waiting(attempt.lease, asked)
            except LeaseLost:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S if pause_s is None else min(pause_s, LOOK_S)):
                    await over.wait()

    def begin() -> None:
        watches.append(asyncio.create_task(watch()))

    left_s = None
    if channel.abilities.expires:
        left_s = channel.validity(attempt.address).left_s
    first_s = LOOK_S if left_s is None else min(max(left_s, 0), LOOK_S)
    timer = asyncio.get_running_loop().call_later(first_s, begin)
    try:
        yield
    finally:
        timer.cancel()
        over.set()
        # They are not cancelled: what they have begun to tell must be told.
        for one in watches:
            await one
