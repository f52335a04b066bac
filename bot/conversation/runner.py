"""One conversation at a time: its turns in strict order, and its deliveries, under one lease."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import structlog

from bot.agent.loop import Agent
from bot.channels import Channel
from bot.commands import SpokenCommands
from bot.conversation.alerts import Alerts
from bot.conversation.cancellation import CancelRegistry
from bot.conversation.delivery import OutboxRelay
from bot.conversation.history import HistoryWindow
from bot.conversation.limits import Budgets
from bot.conversation.services import ConversationSettings, Services
from bot.conversation.summarizer import Summarizer
from bot.conversation.turns import TurnRunner
from bot.errors import AwaitingApproval, LeaseLost, StoreUnavailable
from bot.store import Lease, Store, shard_of
from bot.telemetry import Metrics
from bot.texts import Texts
from bot.transcript import new_id

log = structlog.stdlib.get_logger(__name__)

RENEW_EVERY_S = 1.0  # a lease lives six times as long
WHOLE_INBOX = 1_000_000_000  # entries
DEFAULT = ConversationSettings()


@dataclass(frozen=True, slots=True)
class NextWakeup:
    """When a conversation is to be processed again.

    Attributes:
        at: ms of the store's clock; None: at once if journal or outbox hold anything.
        known: entries of the inbox that wait on purpose.
    """

    at: int | None = None
    known: int = 0


@dataclass(slots=True, eq=False)
class _HeldLease:
    """A lease and the time limit of the work under it, which ends when the lease is lost."""

    lease: Lease
    limit: asyncio.Timeout
    renewed_at: float = field(default_factory=time.monotonic)
    is_lost: bool = False


class Renewals:
    """Renews all leases of this process together: one request a second for each shard."""

    def __init__(self, store: Store) -> None:
        self._leases = store.leases
        self._held: set[_HeldLease] = set()
        self._renewing: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def hold(self, lease: Lease) -> AsyncIterator[None]:
        """Renew a lease while the work inside runs.

        Raises:
            LeaseLost: inside; the work ends with it.
        """
        held = None
        try:
            async with asyncio.timeout(None) as limit:
                held = _HeldLease(lease, limit)
                self._held.add(held)
                if self._renewing is None or self._renewing.done():
                    self._renewing = asyncio.create_task(self._renew())
                try:
                    yield
                finally:
                    self._held.discard(held)
        except TimeoutError as error:
            if held is None or not held.is_lost:
                raise
            raise LeaseLost(lease.conversation) from error

    async def _renew(self) -> None:
        while self._held:
            await asyncio.sleep(RENEW_EVERY_S)
            shards: defaultdict[int, list[_HeldLease]] = defaultdict(list)
            for held in self._held:
                if time.monotonic() - held.renewed_at >= RENEW_EVERY_S:  # most turns end before their first renewal
                    shards[shard_of(held.lease.conversation)].append(held)
            # At once: shard after shard would take a busy loop longer than a lease lives.
            await asyncio.gather(*map(self._renew_shard, shards.values()))

    async def _renew_shard(self, shard: list[_HeldLease]) -> None:
        """Renew leases of one shard. While the store is away their turns go on: every write is fenced."""
        now = time.monotonic()
        try:
            lost = await self._leases.renew_each([held.lease for held in shard])
        except StoreUnavailable as error:
            log.warning("lease.not_renewed", count=len(shard), cause=str(error))
            return
        for held in shard:
            held.renewed_at = now
            if held.lease in lost and held in self._held:
                self._held.discard(held)
                held.is_lost = True
                held.limit.reschedule(asyncio.get_running_loop().time())


class ConversationRunner:
    """Processes conversations, each under its lease, any number at once.

    Attributes:
        closing: begin no new turn; another process goes on with what waits.
    """

    def __init__(
        self, services: Services, turns: TurnRunner, window: HistoryWindow, cancellations: CancelRegistry
    ) -> None:
        self.services = services
        self.window = window
        self.cancellations = cancellations
        self.closing = False
        self._store = services.store
        self._turns = turns
        self._relay = OutboxRelay(services)
        self._renewals = Renewals(services.store)

    async def process(self, conversation: str) -> None:
        """Deliver the outbox and answer the inbox, unless another process has the conversation's lease.

        Raises:
            StoreUnavailable: the due index brings the conversation back.
        """
        while (lease := await self._store.leases.acquire(conversation, if_wanted=True)) is not None:
            wakeup = NextWakeup()
            with structlog.contextvars.bound_contextvars(conversation=conversation):
                try:
                    async with self._renewals.hold(lease):
                        wakeup = await self._take_turns(lease)
                except LeaseLost:
                    log.warning("lease.lost")
                finally:
                    # Also after a shutdown's cancellation: the next worker shall not wait for the lease to expire.
                    is_due = await asyncio.shield(self._release(lease, wakeup))
            if self.closing or not is_due:
                return
            log.debug("inbox.message_during_release", conversation=conversation)

    async def _release(self, lease: Lease, wakeup: NextWakeup) -> bool:
        """Give the lease back.

        Returns:
            Whether the inbox holds a message that came in during the release, of which no worker was told.
        """
        with suppress(LeaseLost, StoreUnavailable):
            return await self._store.leases.release(lease, wakeup.at, wakeup.known)
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
                    return NextWakeup(again_at, WHOLE_INBOX)  # this turn comes first
                retry_at = await self._relay.deliver(lease)
        if not self.closing:
            self.window.schedule_summary(lease.conversation)
        # When closing, a turn may still wait in its journal, and the store knows when to go on with it.
        return NextWakeup(None if self.closing else retry_at)


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
    """The services of all conversations.

    Args:
        channels: all channels that are on, by name.
        alerts: given where channels raise alerts too.
        summarizer: None: older turns are left out of the requests.
        clock: monotonic seconds.
    """
    language, days = options.defaults.language, options.days
    alerts = alerts or Alerts(store, texts, days, language, options.alert_to)
    alerts.connect(channels)
    budgets = Budgets(store, options.limits, days, alerts, metrics)
    window = HistoryWindow(store, agent.provider, summarizer, budgets, options.history_tokens, clock)
    services = Services(
        store, channels, texts, SpokenCommands(texts), metrics, alerts, budgets, options.defaults, options.policy
    )
    cancellations = CancelRegistry(store)
    turns = TurnRunner(services, agent, window, cancellations)
    return ConversationRunner(services, turns, window, cancellations)
