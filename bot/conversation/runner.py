"""One conversation's care: turns in strict order and deliveries, under one lease."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import structlog

from bot.agent.loop import Agent
from bot.channels import Channel, Question
from bot.commands import SpokenCommands
from bot.conversation.admission import Admission
from bot.conversation.alerts import Alerts
from bot.conversation.answering import Answering
from bot.conversation.approvals import Approvals, Policy
from bot.conversation.budgets import Budgets
from bot.conversation.cancellation import TOPIC, CancelRegistry
from bot.conversation.delivery import OutboxRelay
from bot.conversation.edits import KEEP_TURNS, Housekeeping
from bot.conversation.history import HistoryWindow
from bot.conversation.journal import read_entries
from bot.conversation.records import read_record
from bot.conversation.renewals import Renewals
from bot.conversation.replying import Defaults, Replying
from bot.errors import AwaitingApproval, LeaseLost, StoreUnavailable
from bot.metrics import Metrics
from bot.store import Lease, Store
from bot.texts import Texts
from bot.transcript import Message, new_id

log = structlog.stdlib.get_logger(__name__)

LISTEN_AGAIN_S = 1.0
EVERYTHING = 1_000_000_000  # of the inbox


@dataclass(frozen=True, slots=True)
class NextWakeup:
    """How a conversation is left.

    Attributes:
        until: when it wants care again by itself, ms of the store's clock; None where it does not.
        known: entries of the inbox that wait on purpose.
    """

    until: int | None = None
    known: int = 0


class ConversationRunner:
    """Takes care of conversations, each under its lease, as many at once as are asked for."""

    def __init__(
        self, store: Store, answering: Answering, past: HistoryWindow, stops: CancelRegistry, postman: OutboxRelay
    ) -> None:
        self._store = store
        self._answering = answering
        self._past = past
        self._stops = stops
        self._postman = postman
        self._renewals = Renewals(store)
        self.closing = False  # begins no new turn; what waits is left for others

    async def process(self, conversation: str) -> None:
        """Deliver what is left and answer what waits; where that is done, or another process is at it, leave at once.

        Raises:
            StoreUnavailable: the due index brings the conversation back.
        """
        while await self._attend_once(conversation) and not self.closing:
            log.debug("inbox.message_during_release", conversation=conversation)

    async def past(self, conversation: str) -> list[Message]:
        """The committed messages, oldest first."""
        entries = await self._store.history.read(conversation, KEEP_TURNS)
        return [message for entry in entries for message in read_record(entry).messages]

    async def question(self, conversation: str) -> Question | None:
        """What a person is asked at this moment."""
        asked = read_entries(await self._store.journal.read(conversation)).open_question
        return asked.question if asked else None

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """While the context is open, turns of this process stop when they are told to."""
        hearing = asyncio.create_task(self._hear_stops())
        try:
            yield
        finally:
            hearing.cancel()
            with suppress(asyncio.CancelledError):
                await hearing

    async def _hear_stops(self) -> None:
        while True:
            with suppress(StoreUnavailable):
                async with self._store.live.subscribe(TOPIC) as told:
                    async for conversation in told:
                        self._stops.stop(conversation.decode())
            await asyncio.sleep(LISTEN_AGAIN_S)

    async def _attend_once(self, conversation: str) -> bool:
        """Whether a message waits that came in too late for this lease and gave nobody a hint."""
        lease = await self._store.leases.acquire(conversation, if_wanted=True)
        if lease is None:
            return False
        left = NextWakeup()
        waiting = False
        with structlog.contextvars.bound_contextvars(conversation=conversation):
            try:
                async with self._renewals.kept(lease):
                    left = await self._care(lease)
            except LeaseLost:
                log.warning("lease.lost")
            finally:
                # Also after a shutdown's cancellation: the next worker shall not wait for the lease to expire.
                waiting = await asyncio.shield(self._release(lease, left))
        return waiting

    async def _release(self, lease: Lease, left: NextWakeup) -> bool:
        with suppress(LeaseLost, StoreUnavailable):
            return await self._store.leases.release(lease, left.until, left.known)
        return False

    async def _care(self, lease: Lease) -> NextWakeup:
        retry_at = await self._postman.deliver(lease) if lease.unsent else None
        while not self.closing and (journalled := await self._store.journal.begin(lease, new_id("turn"))) is not None:
            with structlog.contextvars.bound_contextvars(turn=journalled.turn_id):
                # An answer that is shown while it is written must not overtake one that still waits.
                quietly = retry_at is not None
                try:
                    again_at = await self._answering.take(lease, journalled, quietly=quietly)
                except AwaitingApproval as parked:
                    retry_at = await self._postman.deliver(lease)
                    return NextWakeup(min(parked.until, retry_at or parked.until), parked.known)
                if again_at is not None:
                    return NextWakeup(again_at, EVERYTHING)  # the turn has to be gone on with first
                retry_at = await self._postman.deliver(lease)
        if not self.closing:
            self._past.keep_up(lease.conversation)
        return NextWakeup(None if self.closing else retry_at)  # a turn may have been left, and has its own time


def conversations(
    store: Store,
    agent: Agent,
    past: HistoryWindow,
    channels: Mapping[str, Channel],
    texts: Texts,
    metrics: Metrics,
    defaults: Defaults,
    policy: Policy,
    budgets: Budgets,
    alerts: Alerts,
) -> ConversationRunner:
    """The parts of a conversation's care, joined to one another.

    Args:
        channels: by name; may be filled later.
    """
    commands, stops = SpokenCommands(texts), CancelRegistry()
    housekeeping = Housekeeping(store, defaults.history_days, agent.tools.forget)
    approvals = Approvals(store, texts, commands, policy, defaults.language)
    replying = Replying(
        store, agent, past, channels, texts, housekeeping, commands, approvals, stops, budgets, alerts, defaults
    )
    admission = Admission(store, budgets, channels, texts, defaults.language, defaults.time_zone)
    answering = Answering(
        store, replying, approvals, admission, alerts, housekeeping, channels, texts, commands, metrics, defaults
    )
    return ConversationRunner(store, answering, past, stops, OutboxRelay(store, channels, metrics, alerts))
