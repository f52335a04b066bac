"""The agent's part of a turn: from what was asked, and what is on record already, to one reply."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial

import structlog

from bot.agent.loop import STOPPED, Agent
from bot.agent.turn import NOBODY, ApprovalDecision, Turn, TurnContext, now_ms
from bot.channels import Channel, InboundEvent, Reply
from bot.commands import SpokenCommands
from bot.conversation.alerts import ALARMING, Alerts
from bot.conversation.approvals import Approvals
from bot.conversation.budgets import Budgets
from bot.conversation.cancellation import CancelRegistry
from bot.conversation.context import usable_zone
from bot.conversation.edits import Housekeeping
from bot.conversation.history import HistoryWindow
from bot.conversation.inbound import InboundMessages
from bot.conversation.journal import Begun, JournalLedger, Said, Step
from bot.conversation.media import IN_FLIGHT, Allowance, TurnMedia
from bot.conversation.tool_commands import choice_in, command_words
from bot.errors import ModelError, TurnFailed
from bot.live_events import AnswerRestarted, Nobody, TurnStarted, Watcher
from bot.store import JournalledTurn, Lease, Store
from bot.texts import Texts, language_of
from bot.transcript import Author, Message, Text, ToolCall, ToolResult, new_id

log = structlog.stdlib.get_logger(__name__)

TURN_S = 300.0


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds where a message does not say, and what our own sentences tell.

    Attributes:
        language: ``en`` or ``ja``.
        time_zone: IANA name.
    """

    language: str
    time_zone: str
    bot_name: str = "Kaiwa"
    history_days: int = 30


@dataclass(slots=True)
class TurnResult:
    """What a turn leaves: messages for the history, replies with their addresses, the model that answered."""

    messages: tuple[Message, ...] = ()
    replies: list[tuple[Reply, str]] = field(default_factory=list)
    model: str = ""


class Replying:
    """Has the agent answer."""

    def __init__(
        self,
        store: Store,
        agent: Agent,
        past: HistoryWindow,
        channels: Mapping[str, Channel],
        texts: Texts,
        housekeeping: Housekeeping,
        commands: SpokenCommands,
        approvals: Approvals,
        stops: CancelRegistry,
        budgets: Budgets,
        alerts: Alerts,
        defaults: Defaults,
    ) -> None:
        self._store = store
        self._agent = agent
        self._past = past
        self._channels = channels
        self._texts = texts
        self._housekeeping = housekeeping
        self._commands = commands
        self._approvals = approvals
        self._stops = stops
        self._budgets = budgets
        self._alerts = alerts
        self._defaults = defaults
        self._media = Allowance(IN_FLIGHT)

    @property
    def model(self) -> str:
        """The model that answers."""
        return self._agent.provider.model

    def tool_commands(self, language: str) -> list[str]:
        """Words that have a tool called, for the help."""
        return command_words(self._agent.tools, language)

    async def answer(
        self,
        lease: Lease,
        journalled: JournalledTurn,
        arrivals: list[InboundEvent],
        steps: list[Step],
        *,
        quietly: bool,
    ) -> TurnResult:
        """Answer messages; with nothing, where they have all been taken back meanwhile.

        Args:
            arrivals: the messages the turn began with.
            steps: what it has done already.
            quietly: show nothing of it before it is delivered.

        Raises:
            LeaseLost: another process has the turn.
            AwaitingApproval: it waits for a person.
            StoreUnavailable: it is left in its journal.
        """
        conversation = lease.conversation
        channel = self._channels[conversation.partition(":")[0]]
        reception = InboundMessages(
            self._store, lease, channel, self._housekeeping, self._commands, self._defaults.time_zone
        )
        live_view = nullcontext(Nobody()) if quietly else channel.live_view(conversation, arrivals[-1].address)
        async with TurnMedia(self._media, channel, conversation) as media, live_view as watcher:
            await watcher.show(TurnStarted(journalled.turn_id, tuple(arrival.message.id for arrival in arrivals)))
            turn = await self._begun(lease, journalled, arrivals, reception, watcher, media)
            await self._restore(turn, steps, reception, watcher)
            reply = await self._reply(turn, reception)
            if reply is None:
                await watcher.show(AnswerRestarted())
            added = media.described(turn.added)
        return TurnResult(added, [(reply, reception.address)], turn.model) if reply else TurnResult()

    async def _begun(
        self,
        lease: Lease,
        journalled: JournalledTurn,
        arrivals: list[InboundEvent],
        reception: InboundMessages,
        watcher: Watcher,
        media: TurnMedia,
    ) -> Turn:
        """The turn before its first step, each message with its context line."""
        conversation = lease.conversation
        channel = self._channels[conversation.partition(":")[0]]
        history = await self._past.recall(conversation)
        heard = await reception.receive(arrivals, is_new=not history)
        newest = heard.messages[-1]
        author = newest.author or NOBODY
        surroundings = TurnContext(
            conversation=conversation,
            style=channel.style,
            locale=author.locale or language_of(newest.text, self._defaults.language),
            time_zone=usable_zone(author.time_zone, self._defaults.time_zone),
            watcher=watcher,
            load=media.load,
        )

        async def review(call: ToolCall, asker: Author, words: str) -> ApprovalDecision:
            turn_id, address = journalled.turn_id, reception.address
            decided = await self._approvals.review(lease, turn_id, address, words, call, asker)
            reception.decided(decided)
            return decided

        hear = partial(reception.hear, watcher)
        spend = partial(self._budgets.spend, conversation)
        ledger = JournalLedger(self._store, lease, hear, review, spend)
        choice = choice_in(heard.messages, self._agent.tools)
        deadline = time.monotonic() + TURN_S
        return Turn(journalled.turn_id, surroundings, history, heard.messages, ledger, deadline, choice)

    async def _restore(self, turn: Turn, steps: list[Step], reception: InboundMessages, watcher: Watcher) -> None:
        """Bring a turn to where its journal ends."""
        for step in steps:
            match step:
                case Said(message, stop_reason):
                    turn.restore_message(message, stop_reason)
                case ToolResult():
                    turn.restore_result(step)
                case Begun(call_id):
                    turn.restore_begun(call_id)
                case ApprovalDecision():
                    turn.restore_decided(step)
                    reception.decided(step)
                case InboundEvent():
                    turn.restore_heard(await reception.join(watcher, [step]))

    async def _reply(self, turn: Turn, reception: InboundMessages) -> Reply | None:
        """The model's answer, or one honest sentence in its place."""
        try:
            async with asyncio.timeout(TURN_S) as limit:
                with self._stops.watching(turn.surroundings.conversation, limit) as run:
                    if turn.open_calls() and await reception.is_to_stop():  # while nobody was there to be told
                        raise TurnFailed("stopped", STOPPED)
                    answer = await self._agent.run(turn)
        except (TurnFailed, ModelError) as error:
            failure, cause = error.apology, error.cause
        except TimeoutError:
            failure, cause = "timed_out", f"the turn took longer than {TURN_S:.0f} s"
            if run.stopped:
                failure, cause = "stopped", STOPPED
        else:
            return self._answer_of(turn, answer) if answer else None
        return await self._apology(turn, failure, cause)

    async def _apology(self, turn: Turn, failure: str, cause: str) -> Reply:
        log.warning("turn.apologised", apology=failure, cause=cause)
        if (alarm := ALARMING.get(failure)) is not None:
            await self._alerts.notice(alarm, cause)
        stopped = failure == "stopped"
        await self._agent.close(turn, stopped=stopped)
        if stopped:
            await turn.hear(surely=True)  # the wish to stop is answered by this
        apology = self._texts.get(f"apology.{failure}", self._language_of(turn))
        # Not on record before the commit: after a crash the turn goes on, and may find a better end.
        turn.restore_message(Message(new_id("msg"), "model", (Text(apology),), now_ms()), "end_turn")
        return Reply(apology, failed=not stopped, note="" if stopped else cause)

    def _answer_of(self, turn: Turn, answer: Message) -> Reply:
        if turn.stop_reason == "end_turn":
            return Reply(answer.text)
        return Reply(f"{answer.text}\n\n{self._texts.get('reply.cut', self._language_of(turn))}")

    def _language_of(self, turn: Turn) -> str:
        return language_of(turn.words, self._defaults.language)
