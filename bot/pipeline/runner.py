"""One conversation at a time: its turns in strict order, and its deliveries, under one lease."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

import structlog

from bot.agent.loop import Agent
from bot.channels import Channel
from bot.commands import SpokenCommands
from bot.errors import LeaseLost, SettingsError, StoreUnavailable, TurnParked
from bot.pipeline.alerts import Alerts
from bot.pipeline.deliver import OutboxRelay, Progress
from bot.pipeline.feature import Feature
from bot.pipeline.history import READ_TURNS, HistoryWindow
from bot.pipeline.interrupts import RunningTurns
from bot.pipeline.services import (
    NO_DECISIONS,
    ConversationSettings,
    Features,
    FindModel,
    Services,
    Start,
)
from bot.pipeline.turn import TurnRunner
from bot.providers import Provider
from bot.store import JournalledTurn, Lease, Opened, Store
from bot.store.leases import Renewals
from bot.telemetry import Metrics
from bot.texts import Texts
from bot.transcript import new_id
from toolset.tool_map import ToolMap

log = structlog.stdlib.get_logger(__name__)

WHOLE_INBOX = 1_000_000_000  # entries
DEFAULT = ConversationSettings()
NO_OTHERS: Mapping[str, Provider] = MappingProxyType({})


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

    Attributes:
        closing: begin no new turn; another process goes on with what waits.
    """

    def __init__(
        self,
        services: Services,
        turns: TurnRunner,
        window: HistoryWindow,
        cancellations: RunningTurns,
    ) -> None:
        self.services = services
        self.window = window
        self.cancellations = cancellations
        self.closing = False
        self._store = services.store
        self._turns = turns
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
        lease, journalled, progress = opened.lease, opened.turn, Progress()
        if opened.delivery is not None:
            progress = await self._relay.deliver(lease, opened.delivery)
            journalled = await self._begin(lease, progress)
        while journalled is not None:
            with structlog.contextvars.bound_contextvars(turn=journalled.turn_id):
                # An answer that is shown while it is written must not overtake one that still
                # waits.
                quietly = progress.retry_at is not None
                try:
                    taken = await self._turns.take(lease, journalled, quietly=quietly)
                except TurnParked as parked:
                    retry_at = (await self._relay.deliver(lease)).retry_at
                    return NextWakeup(
                        min(parked.until, retry_at or parked.until), parked.known, retry_at is None
                    )
                if isinstance(taken, int):
                    at_once = progress.retry_at is None
                    # This turn comes before the inbox.
                    return NextWakeup(taken, WHOLE_INBOX, at_once)
                progress = await self._relay.deliver_first(lease, taken)
                journalled = await self._begin(lease, progress)
        if not self.closing:
            self.window.tell_if_grown(lease.conversation)
        # When closing, a turn may still wait in its journal, and the store knows when to go on with
        # it.
        return (
            None if progress.released else NextWakeup(None if self.closing else progress.retry_at)
        )

    async def _begin(self, lease: Lease, progress: Progress) -> JournalledTurn | None:
        if self.closing or progress.released:
            return None
        return await self._store.journal.begin(lease, new_id("turn"), READ_TURNS)


def leave_to_workers(conversation: str, author: str) -> None:
    """Leave what is due to the workers of other processes (``Start``)."""


def build(
    store: Store,
    agent: Agent,
    channels: Mapping[str, Channel],
    texts: Texts,
    metrics: Metrics,
    options: ConversationSettings = DEFAULT,
    *,
    alerts: Alerts | None = None,
    models: FindModel | None = None,
    other_models: Mapping[str, Provider] = NO_OTHERS,
    start: Start = leave_to_workers,
    features: Iterable[Callable[[Services], Feature]] = (),
) -> ConversationRunner:
    """The services of all conversations.

    Args:
        channels: all channels that are on, by name.
        alerts: given where channels raise alerts too.
        models: None: whatever a feature names, there is the agent's.
        other_models: see ``Services``.
        start: tells this process's worker of a conversation that is due.
        features: are made in this order.

    Raises:
        SettingsError: a tool acts, and no feature decides about calls.
    """
    language, days = options.defaults.language, options.days
    alerts = alerts or Alerts(store, texts, days, language, options.alert_to)
    alerts.connect(channels)
    services = Services(
        store=store,
        provider=agent.provider,
        channels=channels,
        texts=texts,
        commands=SpokenCommands(texts),
        metrics=metrics,
        alerts=alerts,
        days=days,
        defaults=options.defaults,
        other_models=other_models,
        features=Features(),
        models=models or (lambda _names, _asker: agent.provider),
        start=start,
        tools=agent.tools,
    )
    services.features.install(feature(services) for feature in features)
    _refuse_undecided(services.features, agent.tools)
    window = HistoryWindow(services, options.history_tokens)
    cancellations = RunningTurns(store)
    turns = TurnRunner(services, agent, window, cancellations)
    return ConversationRunner(services, turns, window, cancellations)


def _refuse_undecided(features: Features, tools: ToolMap) -> None:
    """Refuse tools that act where nobody would be asked; later ones are never called."""
    acting = [name for name, tool in tools.items() if tool.definition.risk == "high"]
    if acting and features.decisions is NO_DECISIONS:
        fix = "switch them off, or list one that does in bot/features/registry.py"
        raise SettingsError("tools", f"{', '.join(acting)} act, and no feature decides; {fix}")
