"""What the stages of the pipeline share: store, channels, texts and settings, and the features,
whose hooks they call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import structlog
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from bot.agent.turn import NOBODY
from bot.alerts import Alerts
from bot.channels import (
    AS_EVERYWHERE,
    Accept,
    Channel,
    InboundEvent,
    KeptSection,
    PlaceSettings,
    Reply,
)
from bot.clock import Days, usable_zone
from bot.commands import SpokenCommands
from bot.pipeline.feature import (
    AddToAnswer,
    Decisions,
    Feature,
    Limits,
    MakeStore,
    ParkedTurn,
    RunCommand,
    TurnRequest,
    TurnResult,
    Work,
)
from bot.providers import Provider
from bot.store import Erase, JournalledTurn, Lease, Store
from bot.telemetry import Metrics
from bot.telemetry.observed import OBSERVER, Observe, ObservedStep, ShareBegun, ShareEnded
from bot.texts import Texts, language_for
from bot.transcript import Author, Message, channel_of
from toolset.stores import FindStore
from toolset.tool_map import ToolMap

if TYPE_CHECKING:
    from bot.agent.loop import Agent

log = structlog.stdlib.get_logger(__name__)

# Tells this process's worker of a conversation that is due, and the id of the person who waits for
# an answer; empty if nobody does.
Start = Callable[[str, str], None]
# A model by its name, where an empty one is MODEL's, with its fallbacks after it, and the variable
# that names them; raises SettingsError.
FindModel = Callable[[tuple[str, ...], str], Provider]
P = ParamSpec("P")
R = TypeVar("R")
UTC = Days("UTC")
# Of a turn, or of a delivery, with an unforeseen exception; the rest after the first is doubled
# after each further one.
MAX_FAILURES = 3
REST_MS = 1_000
NO_LIMITS = Limits()
NO_DECISIONS = Decisions()
# Tables and sets of a feature, which are those of all together:
REGISTERED = (
    "actions",
    "commands",
    "unrecorded",
    "kept",
    "shown",
    "purged",
    "erased",
    "after_calls",
    "where_possible",
    "tool_stores",
)
# The conversation that is processed in this context, for what its operator has set for it.
HERE: ContextVar[str] = ContextVar("here", default="")
HOOKS = {name: hook for name, hook in vars(Feature).items() if callable(hook) and name[0] != "_"}


@dataclass(frozen=True, slots=True)
class Defaults:
    """Defaults for authors without language or time zone, and values for sentences of the
    catalogue.

    Attributes:
        language: ``en`` or ``ja``.
        time_zone: IANA name.
    """

    language: str = "en"
    time_zone: str = "UTC"
    bot_name: str = "Kaiwa"
    history_days: int = 30


@dataclass(frozen=True, slots=True)
class ConversationSettings:
    """The operator's settings for conversations.

    Attributes:
        history_tokens: of the history in a request, at most.
        days: the calendar of limits and alerts.
        alert_to: who gets alerts, ``slack:C…`` or ``line:U…``; empty: only the log.
    """

    defaults: Defaults = Defaults()
    history_tokens: int = 16_000
    days: Days = UTC
    alert_to: str = ""


DEFAULT = ConversationSettings()
NO_OTHERS: Mapping[str, Provider] = MappingProxyType({})


class Features:
    """All features, in the order of their registry; a hook that none has costs nothing.

    Attributes:
        limits: the feature in charge of them.
        decisions: the feature in charge of calls that act.
    """

    def __init__(self) -> None:
        self.limits = NO_LIMITS
        self.decisions = NO_DECISIONS
        self.actions: dict[str, Accept | None] = {}
        self.commands: dict[str, RunCommand] = {}
        self.kept: dict[str, Erase] = {}
        self.shown: set[str] = set()
        self.purged: set[str] = set()
        self.erased: set[str] = set()
        self.unrecorded: set[str] = set()
        self.routes: list[BaseRoute] = []
        self.middleware: list[Middleware] = []
        self.every: list[tuple[str, int, Work]] = []
        self.after_calls: dict[str, AddToAnswer] = {}
        self.where_possible: dict[str, AddToAnswer] = {}
        self.tool_stores: dict[type[Any], MakeStore] = {}
        self._by_hook: dict[object, list[Any]] = {hook: [] for hook in HOOKS.values()}
        self._make_observers = self.hooks(Feature.observer)

    def install(self, features: Iterable[Feature]) -> None:
        """Take features in; what they need to be made may hold this list already."""
        for feature in features:
            for name in REGISTERED:
                getattr(self, name).update(getattr(feature, name))
            self.erased.update(feature.purged)
            self.routes += feature.routes
            self.middleware += feature.middleware
            for seconds, work in feature.every.items():
                self.every.append((f"{type(feature).__name__} {seconds}", seconds, work))
            if isinstance(feature, Limits):
                if self.limits is not NO_LIMITS:
                    raise ValueError("two features limit what is answered")
                self.limits = feature
            if isinstance(feature, Decisions):
                if self.decisions is not NO_DECISIONS:
                    raise ValueError("two features decide about calls")
                self.decisions = feature
            for name, hook in HOOKS.items():
                if getattr(type(feature), name) is not hook:
                    self._by_hook[hook].append(getattr(feature, name))

    def hooks(self, hook: Callable[Concatenate[Feature, P], R]) -> list[Callable[P, R]]:
        """This hook of all features that override it."""
        return self._by_hook[hook]

    async def each(
        self,
        hook: Callable[Concatenate[Feature, P], Awaitable[R]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> list[R]:
        """Call this hook of all features that override it, one after the other."""
        return [await call(*args, **kwargs) for call in self.hooks(hook)]

    def find_store(self, request: TurnRequest) -> FindStore:
        """What a turn's tools ask for their stores, see ``Feature.tool_stores``; each is made once
        for the turn."""
        made: dict[type[Any], Any] = {}

        def find(kind: type[Any]) -> Any:
            if kind not in made and kind in self.tool_stores:
                made[kind] = self.tool_stores[kind](request)
            return made.get(kind)

        return find

    def start_observing(self, conversation: str, turn_id: str) -> None:
        """Have features observe what is done from now on in this context."""
        if self._make_observers:
            OBSERVER.set(self._observer(conversation, turn_id))

    def observe(self, conversation: str, turn_id: str, step: ObservedStep) -> None:
        """Have features observe one step."""
        self._observer(conversation, turn_id)(step)

    def _observer(self, conversation: str, turn_id: str) -> Observe:
        """Tells all features that observe turns."""
        observers = [make(conversation, turn_id) for make in self._make_observers]
        if len(observers) == 1:
            return observers[0]

        def tell(step: ObservedStep) -> None:
            for observe in observers:
                observe(step)

        return tell

    @contextmanager
    def observing(self, conversation: str, turn: JournalledTurn) -> Iterator[None]:
        """Have features observe this process' share of a turn, from its beginning to its end."""
        self.start_observing(conversation, turn.turn_id)
        if (observe := OBSERVER.get()) is None:
            yield
            return
        observe(ShareBegun(turn.is_resumed))
        cause = ""
        try:
            yield
        except BaseException as error:
            cause = type(error).__name__
            raise
        finally:
            observe(ShareEnded(cause))

    def announce(self, event: InboundEvent, refusal: str = "") -> Reply | None:
        """See ``Feature.announce``."""
        replies = (announce(event, refusal) for announce in self.hooks(Feature.announce))
        return next(filter(None, replies), None)

    async def answer_overheard(
        self, conversation: str, events: Sequence[InboundEvent]
    ) -> TurnResult:
        """See ``Feature.answer_overheard``."""
        for answer in self.hooks(Feature.answer_overheard):
            if (result := await answer(conversation, events)) is not None:
                return result
        return TurnResult()

    async def while_waiting(
        self, lease: Lease, asked: InboundEvent | None = None, parked: ParkedTurn | None = None
    ) -> float | None:
        """See ``Feature.while_waiting``."""
        called = await self.each(Feature.while_waiting, lease, asked, parked)
        return min((seconds for seconds in called if seconds is not None), default=None)

    async def overheard(self, conversation: str) -> list[Message]:
        """See ``Feature.overheard``."""
        return [*chain(*await self.each(Feature.overheard, conversation))]

    async def overview(self, conversation: str, event: InboundEvent) -> list[KeptSection]:
        """See ``Feature.overview``. What all of them ask the store leaves together."""
        HERE.set(conversation)
        asked = (overview(conversation, event) for overview in self.hooks(Feature.overview))
        return list(filter(None, await asyncio.gather(*asked)))

    async def delete_kept(
        self, conversation: str, event: InboundEvent, action: str, key: str
    ) -> bool:
        """See ``Feature.delete_kept``."""
        for delete in self.hooks(Feature.delete_kept):
            if await delete(conversation, event, action, key):
                return True
        return False

    async def open(self) -> None:
        """See ``Feature.open``."""
        await self.each(Feature.open)

    async def aclose(self) -> None:
        """See ``Feature.aclose``."""
        await self.each(Feature.aclose)


@dataclass(frozen=True, slots=True)
class Services:
    """What a turn needs besides the agent.

    Attributes:
        channels: all channels that are on, by name.
        days: the calendar of limits and alerts.
        other_models: those that answer nobody, but features ask, by ``provider:model``.
    """

    store: Store
    provider: Provider
    channels: Mapping[str, Channel]
    texts: Texts
    commands: SpokenCommands
    metrics: Metrics
    alerts: Alerts
    days: Days
    defaults: Defaults
    history_tokens: int
    other_models: Mapping[str, Provider]
    features: Features
    models: FindModel
    start: Start
    tools: ToolMap

    def channel(self, conversation: str) -> Channel | None:
        """The channel of a conversation; None if it is off."""
        return self.channels.get(channel_of(conversation))

    def place(self, conversation: str) -> str:
        """What the conversation shares its people's things with, such as its channel."""
        channel = self.channel(conversation)
        return channel.place(conversation).id if channel else conversation

    def settings_of(self, conversation: str, person: str = "") -> PlaceSettings:
        """What is set for a conversation, or for a person there."""
        finds = self.features.hooks(Feature.settings_of)
        given = (find(conversation, person) for find in finds)
        found = next(filter(None, given), AS_EVERYWHERE)
        channel = self.channel(conversation)
        if channel is None or channel.approvers is None or found.approvers is not None:
            return found
        return replace(found, approvers=tuple(channel.approvers))

    def model_of(self, conversation: str, person: str = "") -> Provider:
        """The model that answers there."""
        models = self.settings_of(conversation, person).models
        return self.models(models, "PLACES") if models else self.provider

    async def current_address(self, lease: Lease, event: InboundEvent, reply: Reply) -> str:
        """The address of a reply to an event that is ready now, without what has expired of it."""
        channel = self.channels[channel_of(lease.conversation)]
        if not channel.abilities.expires:
            return event.address
        address = channel.validity(event.address).now
        if address != event.address and reply.keep != "if_free":
            private = reply.private
            await self.features.each(Feature.address_expired, lease, event, private=private)
        return address

    async def with_names(self, conversation: str, messages: Sequence[Message]) -> list[Message]:
        """Messages of a group with the names of their authors."""
        events = [InboundEvent(message, group=True) for message in messages]
        return [event.message for event in await self.known(conversation, events)]

    async def known(
        self, conversation: str, events: Sequence[InboundEvent]
    ) -> Sequence[InboundEvent]:
        """The events with what their platform knows of their authors; as they are where the channel
        is off."""
        if not events or (channel := self.channel(conversation)) is None:
            return events
        return await channel.enrich(conversation, events, is_new=False)

    async def known_language(self, conversation: str, event: InboundEvent) -> str:
        """``language``, with what the platform knows of the author."""
        (known,) = await self.known(conversation, [event])
        return self.language(known)

    def language(self, event: InboundEvent) -> str:
        """The language in which the event's author is answered."""
        text, locale = event.message.text, (event.message.author or NOBODY).locale
        is_command = self.commands.read(text) is not None
        default = self.default_language(event.author_id)
        return language_for(text, locale, default, is_command=is_command)

    def default_language(self, person: str = "") -> str:
        """The language of a person here who shows none: the place's or the bot's."""
        return self.settings_of(HERE.get(), person).language or self.defaults.language

    def sentence(self, key: str, event: InboundEvent, **values: object) -> str:
        """A sentence of the catalogue in the language of the event's author."""
        known = {"bot_name": self.defaults.bot_name, "days": self.defaults.history_days}
        return self.texts.get(key, self.language(event), **known, **values)

    def private_reply(self, key: str, event: InboundEvent, **values: object) -> Reply:
        """A sentence for its reader alone where the platform can do that; it never becomes a dead
        letter."""
        text = self.sentence(key, event, **values)
        return Reply(text, private=event.group, keep="until_refused")

    def time_zone(self, event: InboundEvent) -> str:
        """The author's time zone; the place's or the bot's if the author's is unknown."""
        return self.zone_of(event.message.author or NOBODY)

    def zone_of(self, person: Author) -> str:
        """The same of a person here."""
        default = self.settings_of(HERE.get(), person.id).time_zone or self.defaults.time_zone
        return usable_zone(person.time_zone, default)


def leave_to_workers(conversation: str, author: str) -> None:
    """Leave what is due to the workers of other processes (``Start``)."""


def make_services(
    store: Store,
    agent: Agent,
    channels: Mapping[str, Channel],
    texts: Texts,
    metrics: Metrics,
    options: ConversationSettings = DEFAULT,
    *,
    models: FindModel | None = None,
    other_models: Mapping[str, Provider] = NO_OTHERS,
    start: Start = leave_to_workers,
    features: Iterable[Callable[[Services], Feature]] = (),
) -> Services:
    """Make what all conversations share.

    Args:
        channels: all channels that are on, by name.
        models: None: whatever a feature names, there is the agent's.
        other_models: see ``Services``.
        start: tells this process's worker of a conversation that is due.
        features: are made in this order.
    """
    language, days = options.defaults.language, options.days
    alerts = Alerts(store, texts, days, language, options.alert_to)
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
        history_tokens=options.history_tokens,
        other_models=other_models,
        features=Features(),
        models=models or (lambda _names, _asker: agent.provider),
        start=start,
        tools=agent.tools,
    )
    services.features.install(feature(services) for feature in features)
    return services
