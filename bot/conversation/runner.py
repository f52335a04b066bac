"""One conversation at a time: its turns in strict order, and its deliveries, under one lease."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import structlog

from bot.agent.loop import Agent
from bot.channels import Channel
from bot.commands import SpokenCommands
from bot.conversation.alerts import Alerts
from bot.conversation.cancellation import TOPIC, CancelRegistry
from bot.conversation.delivery import OutboxRelay
from bot.conversation.history import HistoryWindow
from bot.conversation.limits import Budgets
from bot.conversation.renewals import Renewals
from bot.conversation.services import ConversationSettings, Services
from bot.conversation.summarizer import Summarizer
from bot.conversation.turns import TurnRunner
from bot.errors import AwaitingApproval, LeaseLost, StoreUnavailable
from bot.metrics import Metrics
from bot.store import Lease, Store
from bot.texts import Texts
from bot.transcript import new_id

log = structlog.stdlib.get_logger(__name__)

LISTEN_AGAIN_S = 1.0
EVERYTHING = 1_000_000_000  # of the inbox
DEFAULT = ConversationSettings()


@dataclass(frozen=True, slots=True)
class NextWakeup:
    """When a conversation is to be processed again.

    Attributes:
        until: when it is to be processed again, ms of the store's clock; None where it does not.
        known: entries of the inbox that wait on purpose.
    """

    until: int | None = None
    known: int = 0


class ConversationRunner:
    """Processes conversations, each under its lease, as many at once as are asked for.

    Attributes:
        closing: begins no new turn; what waits is left for others.
    """

    def __init__(
        self, services: Services, turns: TurnRunner, window: HistoryWindow, cancellations: CancelRegistry
    ) -> None:
        self.services = services
        self.window = window
        self._store = services.store
        self._turns = turns
        self._cancellations = cancellations
        self._relay = OutboxRelay(services)
        self._renewals = Renewals(services.store)
        self.closing = False

    async def process(self, conversation: str) -> None:
        """Deliver what is left and answer what waits; where another process has the conversation, do nothing.

        Raises:
            StoreUnavailable: the due index brings the conversation back.
        """
        while await self._process_once(conversation) and not self.closing:
            log.debug("inbox.message_during_release", conversation=conversation)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """While the context is open, turns of this process can be stopped, also by another process."""
        listener = asyncio.create_task(self._listen_for_stops())
        try:
            yield
        finally:
            listener.cancel()
            with suppress(asyncio.CancelledError):
                await listener

    async def _listen_for_stops(self) -> None:
        while True:
            with suppress(StoreUnavailable):
                async with self._store.live.subscribe(TOPIC) as stops:
                    async for conversation in stops:
                        self._cancellations.stop(conversation.decode())
            await asyncio.sleep(LISTEN_AGAIN_S)

    async def _process_once(self, conversation: str) -> bool:
        """Whether a message waits that came in too late for this lease and gave nobody a hint."""
        lease = await self._store.leases.acquire(conversation, if_wanted=True)
        if lease is None:
            return False
        left = NextWakeup()
        waiting = False
        with structlog.contextvars.bound_contextvars(conversation=conversation):
            try:
                async with self._renewals.kept(lease):
                    left = await self._take_turns(lease)
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

    async def _take_turns(self, lease: Lease) -> NextWakeup:
        retry_at = await self._relay.deliver(lease) if lease.unsent else None
        while not self.closing and (journalled := await self._store.journal.begin(lease, new_id("turn"))) is not None:
            with structlog.contextvars.bound_contextvars(turn=journalled.turn_id):
                # An answer that is shown while it is written must not overtake one that still waits.
                quietly = retry_at is not None
                try:
                    again_at = await self._turns.take(lease, journalled, quietly=quietly)
                except AwaitingApproval as parked:
                    retry_at = await self._relay.deliver(lease)
                    return NextWakeup(min(parked.until, retry_at or parked.until), parked.known)
                if again_at is not None:
                    return NextWakeup(again_at, EVERYTHING)  # the turn has to be gone on with first
                retry_at = await self._relay.deliver(lease)
        if not self.closing:
            self.window.schedule_summary(lease.conversation)
        return NextWakeup(None if self.closing else retry_at)  # a turn may have been left, and has its own time


def build(
    store: Store,
    agent: Agent,
    channels: Mapping[str, Channel],
    texts: Texts,
    metrics: Metrics,
    options: ConversationSettings = DEFAULT,
    *,
    alerts: Alerts | None = None,
    summarizer: Summarizer | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> ConversationRunner:
    """The services of all conversations, joined to one another.

    Args:
        channels: by name, complete.
        alerts: where channels have some to give.
        summarizer: without one, older turns are left out.
        clock: seconds that only grow.
    """
    language, days = options.defaults.language, options.days
    alerts = alerts or Alerts(store, texts, days, language, options.alert_to)
    alerts.connect(channels)
    budgets = Budgets(store, options.limits, days, alerts, metrics)
    window = HistoryWindow(store, agent.provider, summarizer, budgets, options.history_tokens, clock)
    services = Services(
        store, channels, texts, SpokenCommands(texts), metrics, alerts, budgets, options.defaults, options.policy
    )
    cancellations = CancelRegistry()
    turns = TurnRunner(services, agent, window, cancellations)
    return ConversationRunner(services, turns, window, cancellations)
