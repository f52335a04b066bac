"""One conversation at a time: its turns in strict order, and its deliveries, under one lease."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass

import structlog

from bot.agent.loop import Agent
from bot.errors import LeaseLost, SettingsError, StoreUnavailable, TurnParked
from bot.interrupts import RunningTurns
from bot.pipeline.answer import Answerer
from bot.pipeline.deliver import OutboxRelay, OutboxState
from bot.pipeline.feature import Feature
from bot.pipeline.history import READ_TURNS, HistoryWindow
from bot.pipeline.services import HERE, NO_DECISIONS, Services
from bot.pipeline.turn import TurnRunner
from bot.store import JournalledTurn, Lease, Opened
from bot.store.leases import Renewals
from bot.transcript import new_id

log = structlog.stdlib.get_logger(__name__)

WHOLE_INBOX = 1_000_000_000  # entries


@dataclass(frozen=True, slots=True)
class NextWakeup:
    """When a conversation is to be processed again.

    Attributes:
        at: ms of the store's clock; None: at once if journal or outbox hold anything.
        known: entries of the inbox that wait on purpose.
        is_delivered: nothing in the outbox waits on purpose.
    """

    at: int | None = None
    known: int = 0
    is_delivered: bool = False


class ConversationRunner:
    """Processes conversations, each under its lease, any number at once.

    Raises:
        SettingsError: a tool acts, and no feature decides about calls.

    Attributes:
        closing: begin no new turn; another process goes on with what waits.
    """

    def __init__(self, services: Services, agent: Agent) -> None:
        acting = [name for name, tool in agent.tools.items() if tool.definition.risk == "high"]
        if acting and services.features.decisions is NO_DECISIONS:
            # Nobody would be asked; tools that come later are never called.
            fix = "switch them off, or list one that does in bot/features/registry.py"
            raise SettingsError("tools", f"{', '.join(acting)} act, and no feature decides; {fix}")
        self.services = services
        self.window = HistoryWindow(services.store, services.model_of, services.history_tokens)
        self.interrupts = RunningTurns(services.store)
        self.closing = False
        self._store = services.store
        self._turns = TurnRunner(services, Answerer(services, agent, self.window, self.interrupts))
        self._renewals = Renewals(services.store.leases)
        self._relay = OutboxRelay(services, self._renewals)

    async def process(self, conversation: str, author: str = "") -> None:
        """Deliver the outbox and answer the inbox, unless another process has the conversation's
        lease.

        Args:
            author: id of the person whose message is to be answered, if known; what is stored of
                them is read at once.

        Raises:
            StoreUnavailable: the due index brings the conversation back.
        """
        HERE.set(conversation)
        while True:
            since = time.monotonic()
            opened = await self._open(conversation, author)
            if opened is None:
                return
            wakeup: NextWakeup | None = NextWakeup()
            with structlog.contextvars.bound_contextvars(conversation=conversation):
                try:
                    async with self._renewals.hold(opened.lease, since):
                        wakeup = await self._take_turns(opened)
                except LeaseLost:
                    log.warning("lease.lost")
                finally:
                    # Also after a shutdown's cancellation: the next worker shall not wait for the
                    # lease to expire.
                    is_due = wakeup is not None and await asyncio.shield(
                        self._release(opened.lease, wakeup)
                    )
            if self.closing or not is_due:
                return
            log.debug("inbox.message_during_release", conversation=conversation)

    async def _open(self, conversation: str, author: str) -> Opened | None:
        """Take the lease, begin the turn, and read what it needs, in one round trip."""
        turn_id = "" if self.closing else new_id("turn")
        if author and (channel := self.services.channel(conversation)) is not None:
            channel.prefetch(conversation, author)
            for prefetch in self.services.features.hooks(Feature.prefetch):
                prefetch(turn_id, conversation, author)
        return await self._store.journal.open(conversation, turn_id, READ_TURNS)

    async def _release(self, lease: Lease, wakeup: NextWakeup) -> bool:
        """Give the lease back.

        Returns:
            Whether a message or a delivery came in during the release, of which no worker was told.
        """
        with suppress(LeaseLost, StoreUnavailable):
            is_delivered = wakeup.is_delivered
            return await self._store.leases.release(
                lease, wakeup.at, wakeup.known, is_delivered=is_delivered
            )
        return False

    async def _take_turns(self, opened: Opened) -> NextWakeup | None:
        """Take turns until the inbox is empty; None if the last delivery has released the lease."""
        lease, journalled, outbox = opened.lease, opened.turn, OutboxState()
        if opened.delivery is not None:
            outbox = await self._relay.deliver(lease, opened.delivery)
            journalled = await self._begin(lease, outbox)
        while journalled is not None:
            observing = self.services.features.observing(lease.conversation, journalled)
            with structlog.contextvars.bound_contextvars(turn=journalled.turn_id):
                # An answer that is shown while it is written must not overtake one that still
                # waits.
                quietly = outbox.retry_at is not None
                try:
                    with observing:
                        taken = await self._turns.take(lease, journalled, quietly=quietly)
                except TurnParked as parked:
                    retry_at = (await self._relay.deliver(lease)).retry_at
                    return NextWakeup(
                        min(parked.until, retry_at or parked.until), parked.known, retry_at is None
                    )
                if isinstance(taken, int):
                    at_once = outbox.retry_at is None
                    # This turn comes before the inbox.
                    return NextWakeup(taken, WHOLE_INBOX, at_once)
                outbox = await self._relay.deliver(lease, taken)
                journalled = await self._begin(lease, outbox)
        if not self.closing and (grown := self.window.grown.pop(lease.conversation, None)):
            for note in self.services.features.hooks(Feature.history_grown):
                note(lease.conversation, *grown)
        # When closing, a turn may still wait in its journal, and the store knows when to go on with
        # it.
        return None if outbox.released else NextWakeup(None if self.closing else outbox.retry_at)

    async def _begin(self, lease: Lease, outbox: OutboxState) -> JournalledTurn | None:
        if self.closing or outbox.released:
            return None
        return await self._store.journal.begin(lease, new_id("turn"), READ_TURNS)
