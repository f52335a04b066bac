"""The part of a turn that needs the model: the agent answers messages, and its ports lead to the
conversation."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial

import structlog
from msgspec.structs import replace

from bot.agent.loop import STOPPED, USUAL, Agent
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
from bot.channels import MOST_FILES, Channel, InboundEvent, Reply, say_buttons
from bot.clock import now_ms, usable_zone
from bot.errors import LeaseLost, ModelError, TurnFailed
from bot.live_events import AnswerRestarted, NoWatcher, TurnStarted, Watcher
from bot.pipeline.alerts import ALARMING
from bot.pipeline.commands import choice_in
from bot.pipeline.feature import (
    AddToAnswer,
    AnsweredTurn,
    CallingTurn,
    Feature,
    Outgoing,
    ParkedTurn,
    TurnRequest,
    TurnResult,
)
from bot.pipeline.history import HistoryWindow
from bot.pipeline.interrupts import Interrupt, RunningTurns
from bot.pipeline.journal import RESPONSE, RESULT, STARTED, Parked, Step
from bot.pipeline.media import IN_FLIGHT, ByteSemaphore, TurnMedia
from bot.pipeline.prepare import InboundMessages
from bot.pipeline.select import parse
from bot.pipeline.services import Services
from bot.safe_text.links import LinkFilter
from bot.safe_text.sources import source_lists
from bot.store import JournalledTurn, Lease
from bot.texts import language_for, language_of
from bot.transcript import (
    FileRef,
    Message,
    Spending,
    Text,
    ToolResult,
    cards_of,
    channel_of,
    choices_of,
    encode,
    new_id,
)
from toolset.shown import Card

log = structlog.stdlib.get_logger(__name__)

TURN_S = 300.0
# A turn that began so short a time ago has just taken all that was in the inbox.
YOUNG_S = 0.01
FENCE = "```"
KINDS: dict[type[TurnStep], str] = {
    RecordedResponse: RESPONSE,
    StartedCall: STARTED,
    ToolResult: RESULT,
}
LOOK_S = 10.0  # until features are told of people who wait, and between two times


@dataclass(slots=True)
class Attempt:
    """One attempt at a turn.

    Attributes:
        quietly: show nothing of the answer before it is delivered.
        agent: with what differs in this turn.
        history_changed: since the turn began.
        begun_at: ``time.monotonic()`` of the attempt.
    """

    lease: Lease
    channel: Channel
    journalled: JournalledTurn
    inbound: InboundMessages
    quietly: bool
    agent: Agent
    history_changed: bool = False
    begun_at: float = field(default_factory=time.monotonic)

    @property
    def turn_id(self) -> str:
        """The turn's id, the same in each attempt."""
        return self.journalled.turn_id


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
        self._waiting = is_old or attempt.inbound.has_left_some  # the inbox may hold something

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
        return await self._attempt.inbound.check(self._watcher, only_changes=only_changes)

    async def review(self, acting: ActingCall) -> ApprovalDecision:
        attempt = self._attempt
        lease, inbound, address = attempt.lease, attempt.inbound, ""
        if inbound.newest:
            asked = replace(inbound.newest, address=inbound.address)
            address = await self._services.current_address(lease, asked, Reply(""))
        turn = CallingTurn(lease, attempt.turn_id, address, inbound.message_ids)
        decision = await self._services.features.decisions.may_call(turn, acting)
        inbound.note_decision(decision)
        return decision

    async def spend(self, spending: Spending) -> None:
        if spending.refusal:
            await self._services.alerts.notice("server_tools_refused", spending.refusal)
        self._services.features.limits.spend(self._attempt.lease.conversation, spending)


class Answerer:
    """Has the agent answer the messages of a turn."""

    def __init__(
        self,
        services: Services,
        window: HistoryWindow,
        cancellations: RunningTurns,
    ) -> None:
        self._services = services
        self._store = services.store
        self._window = window
        self._cancellations = cancellations
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
        conversation = attempt.lease.conversation
        channel, inbound = attempt.channel, attempt.inbound
        view: AbstractAsyncContextManager[Watcher] = nullcontext(NoWatcher())
        if not attempt.quietly:
            view = channel.live_view(conversation, events[-1].address)
        features = self._services.features
        configuration = USUAL
        for given in await features.each(Feature.configure, conversation, events[-1]):
            configuration = configuration.then(given) if given else configuration
        attempt.agent = attempt.agent.configured(configuration)
        support = attempt.agent.provider.media
        read_text = partial(self._read_text, events[0].author_id or conversation)
        async with (
            TurnMedia(self._file_bytes, channel, conversation, support, read_text) as media,
            view as watcher,
        ):
            await watcher.show(
                TurnStarted(attempt.turn_id, tuple(event.message.id for event in events))
            )
            turn = await self._new_turn(attempt, events, watcher, media)
            if not steps and (text := self._answer_wordless(inbound.received, turn.history)):
                return TurnResult(
                    (*turn.added, own_message(text)), [Outgoing(Reply(text), inbound.address)]
                )
            for step in steps:
                await self._restore(turn, step, inbound)
            reply = await self._run_or_apologise(turn, attempt, media)
            if reply is None:
                await watcher.show(AnswerRestarted())
                return TurnResult()
            is_task = any(event.scheduled for event in events)
            is_said_by_model = not (reply.failure or turn.stopped or is_task)
            may_be_reopened = is_said_by_model and inbound.may_be_edited
            model = "" if reply.failure or turn.stopped else turn.model
            answered = AnsweredTurn(conversation, attempt.turn_id, turn.added, model)
            # The model may stay silent.
            is_silent = not reply.text
            adding: list[AddToAnswer] = [*features.hooks(Feature.after_answer)]
            called = {result.name for message in turn.added for result in message.results}
            adding += [add_to for tool, add_to in features.after_calls.items() if tool in called]
            for add_to in adding:
                reply = await add_to(answered, reply)
            replies = [] if is_silent else [Outgoing(reply, inbound.address)]
            return TurnResult(media.describe(turn.added), replies, turn.model, may_be_reopened)

    async def _read_text(self, person: str, mime: str, data: bytes) -> str:
        texts = await self._services.features.each(Feature.read_file, person, mime, data)
        return next(filter(None, texts), "")

    def _answer_wordless(self, events: Sequence[InboundEvent], history: Sequence[Message]) -> str:
        """See ``Feature.answer_wordless``."""
        if not events or not all(event.action for event in events):
            return ""
        hooks = self._services.features.hooks(Feature.answer_wordless)
        return next(filter(None, (answer(events, history) for answer in hooks)), "")

    async def _run_or_apologise(
        self, turn: Turn, attempt: Attempt, media: TurnMedia
    ) -> Reply | None:
        """The agent's answer, or an apology in its place; None if all messages were taken back
        meanwhile."""
        restart = partial(self._restart, turn, attempt.inbound)
        try:
            async with asyncio.timeout(TURN_S) as limit:
                with self._cancellations.track(turn.context.conversation, limit, restart) as run:
                    answer = await self._run(turn, attempt, media)
        except (TurnFailed, ModelError) as error:
            return await self._apologise(turn, attempt.agent, error.apology, error.cause)
        except TimeoutError:
            if run.stopped:
                return await self._apologise(turn, attempt.agent, "stopped", STOPPED)
            return await self._apologise(
                turn, attempt.agent, "timed_out", f"the turn took longer than {TURN_S:.0f} s"
            )
        return self._reply(turn, attempt.agent, answer) if answer else None

    async def _run(self, turn: Turn, attempt: Attempt, media: TurnMedia) -> Message | None:
        """Run the agent, after what came before this attempt or in its beginning
        (``Agent.run``)."""
        inbound = attempt.inbound
        has_missed = self._cancellations.take_missed(turn.context.conversation)
        if (turn.open_calls() or has_missed) and await inbound.is_to_stop():
            raise TurnFailed("stopped", STOPPED)
        if has_missed and not turn.open_calls():
            await turn.check_inbox(certain=True)
        if kind := media.unread_alone(turn.added):  # nothing but files that the model cannot read
            answer = own_message(self._sentence(f"reply.cannot_{kind}", turn))
            turn.restore(RecordedResponse(answer, "end_turn"))
            return answer
        async with tell_of_waiting(self._services, attempt.lease, attempt.channel, inbound):
            return await attempt.agent.run(turn)

    def _restart(self, turn: Turn, inbound: InboundMessages, change: Interrupt) -> None:
        """End the request to the model under way, if it was made without the change, which
        counts."""
        if change.event_id not in inbound.changes and (change.is_unsent or inbound.may_be_edited):
            turn.restart(change.message_id)

    async def _new_turn(
        self, attempt: Attempt, events: list[InboundEvent], watcher: Watcher, media: TurnMedia
    ) -> Turn:
        """The turn before its first step, with the history and the messages it answers."""
        defaults, inbound, lease = self._services.defaults, attempt.inbound, attempt.lease
        stored = None if attempt.history_changed else attempt.journalled.history
        history = await self._window.load(lease.conversation, stored)
        # The messages of a turn that goes on already quote what came before them.
        is_new = not (history or attempt.journalled.is_reopened)
        asked = await inbound.receive(events, is_new=is_new)
        author = asked[-1].author or NOBODY
        request = TurnRequest(lease.conversation, events[-1], author)
        features = self._services.features
        history += filter(None, await features.each(Feature.before_model, request, asked))
        time_zone = usable_zone(author.time_zone, defaults.time_zone)
        language = language_for(asked[-1].text, author.locale, defaults.language)
        context = TurnContext(
            conversation=lease.conversation,
            style=attempt.channel.style,
            locale=author.locale or language_of(asked[-1].text, defaults.language),
            time_zone=time_zone,
            watcher=watcher,
            load=media.load,
            tool_choice=choice_in(asked, attempt.agent.tools),
            commands=self._services.commands,
            tokens_left=await features.limits.tokens_left(attempt.turn_id, request),
            find_store=features.find_store(request),
            shows_pictures=attempt.channel.abilities.shows_pictures,
            withheld=self._services.texts.get("reply.withheld", language),
        )
        ports = ConversationPorts(self._services, attempt, watcher)
        until = time.monotonic() + TURN_S
        return Turn(attempt.turn_id, context, history, asked, ports, deadline=until)

    async def _restore(self, turn: Turn, step: Step, inbound: InboundMessages) -> None:
        """Apply one step of the journal to the turn."""
        if isinstance(step, InboundEvent):
            joined = [parse(step, self._services.commands)]
            turn.restore_update(await inbound.join(turn.context.watcher, joined))
        elif not isinstance(step, Parked):
            turn.restore(step)
        if isinstance(step, ApprovalDecision):
            inbound.note_decision(step)

    async def _apologise(self, turn: Turn, agent: Agent, failure: str, cause: str) -> Reply | None:
        log.warning("turn.apologised", apology=failure, cause=cause)
        if (alarm := ALARMING.get(failure)) is not None:
            await self._services.alerts.notice(alarm, cause)
        stopped = failure == "stopped"
        channel = self._services.channels[channel_of(turn.context.conversation)]
        shown = "".join(turn.unfinished).strip() if channel.abilities.streams else ""
        await agent.close(turn, stopped=stopped)
        if stopped:
            await turn.check_inbox(certain=True)  # the apology answers the stop
        if turn.withdrawn:
            return None
        apology = self._sentence(f"apology.{failure}", turn)
        if stopped and shown:
            mark = self._sentence("reply.stopped", turn)
            apology = f"{_with_closed_fence(shown)}\n\n{mark}"
        # Recorded by the commit only: after a crash the turn goes on, and may succeed.
        turn.restore(RecordedResponse(own_message(apology), "end_turn"))
        return Reply(apology, failure="" if stopped else cause or failure)

    def _reply(self, turn: Turn, agent: Agent, answer: Message) -> Reply:
        """The answer as people see it; one without text where the model stays silent, as it may
        with background."""
        text = answer.text
        for edit in self._services.features.hooks(Feature.edit_answer):
            if (edited := edit(text, turn.history)) is None:
                return Reply("")
            text = edited
        links = agent.provenance(turn).link_filter(turn.context.withheld)
        if links and (safe := links.text(text)) != text:
            text = safe
            # Without the vendor's own form, so that the model reads what people have read.
            answer = replace(answer, parts=(Text(text),), opaque=None)
        sentence = partial(self._sentence, turn=turn)
        cut = ""
        if turn.stop_reason != "end_turn":
            cut = sentence("reply.cut")
        footer = "\n\n".join(source_lists(turn.grounding, sentence))
        turn.added[-1] = replace(answer, footer=footer)
        shown, files = turn.shown, list[FileRef]()
        for result in shown:
            files += result.files
        reply = Reply(
            "\n\n".join(filter(None, (text, cut, footer))),
            files=tuple(files[-MOST_FILES:]),
            cards=cards_of(shown),
            buttons=say_buttons(choices_of(shown)),
        )
        return _without_links(reply, links) if links else reply

    def _sentence(self, key: str, turn: Turn) -> str:
        default = self._services.defaults.language
        return self._services.texts.get(
            key, language_for(turn.last_user_text, turn.asker.locale, default)
        )


def _without_links(reply: Reply, links: LinkFilter) -> Reply:
    """The reply without composed links in what is shown below its text."""
    cards, files = [], []
    for card in reply.cards:
        rows = tuple((links.text(label), links.text(value)) for label, value in card.rows)
        cards.append(Card(links.text(card.title), rows, links.text(card.note)))
    for file in reply.files:
        files.append(replace(file, name=links.text(file.name), text=links.text(file.text)))
    buttons = say_buttons(links.text(button.value) for button in reply.buttons)
    return replace(reply, cards=tuple(cards), files=tuple(files), buttons=buttons)


def own_message(text: str) -> Message:
    """A sentence of the catalogue as a message of the history."""
    return Message(new_id("msg"), "model", (Text(text),), now_ms())


def _with_closed_fence(markdown: str) -> str:
    """The text; a code block that it leaves open is closed, so that what follows is not part of
    it."""
    fences = sum(line.lstrip().startswith(FENCE) for line in markdown.splitlines())
    return f"{markdown}\n{FENCE}" if fences % 2 else markdown


async def while_waiting(
    services: Services,
    lease: Lease,
    asked: InboundEvent | None = None,
    parked: ParkedTurn | None = None,
) -> float | None:
    """See ``Feature.while_waiting``."""
    called = await services.features.each(Feature.while_waiting, lease, asked, parked)
    return min((seconds for seconds in called if seconds is not None), default=None)


@asynccontextmanager
async def tell_of_waiting(
    services: Services, lease: Lease, channel: Channel, inbound: InboundMessages
) -> AsyncIterator[None]:
    """Call ``Feature.while_waiting`` while the context is open; an answer that is soon ready, and
    in time for its address, calls it never."""
    over, watches = asyncio.Event(), list[asyncio.Task[None]]()

    async def watch() -> None:
        while not over.is_set():
            asked = inbound.newest and replace(inbound.newest, address=inbound.address)
            try:
                pause_s = await while_waiting(services, lease, asked)
            except LeaseLost:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S if pause_s is None else min(pause_s, LOOK_S)):
                    await over.wait()

    def begin() -> None:
        watches.append(asyncio.create_task(watch()))

    left_s = None
    if channel.abilities.expires:
        left_s = channel.validity(inbound.address).left_s
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
