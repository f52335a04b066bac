"""A conversation service on a real store, and a channel that keeps what it is given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from types import MappingProxyType
from typing import Any

from starlette.routing import BaseRoute

from bot.agent.hooks import Hook
from bot.agent.loop import Agent
from bot.channels import AssertLease, ButtonCard, Channel, Delivery, InboundEvent
from bot.clock import Days
from bot.features.registry import load_features
from bot.live_events import LiveEvent
from bot.pipeline.accept import Intake
from bot.pipeline.feature import Feature
from bot.pipeline.history import read_history
from bot.pipeline.journal import read_open_card
from bot.pipeline.runner import ConversationRunner
from bot.pipeline.services import NO_OTHERS, ConversationSettings, Services, make_services
from bot.providers import Provider
from bot.providers.scripted import Scripted
from bot.settings import NO_FIELDS
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from bot.transcript import Author, Message, Text
from tests.fakes.tools import Echo, tool_map
from toolset.tool_map import ToolMap

HERE = "mailbox:room-0001"
SHOWN_AT, WRITTEN_AT = 1_000, 10_000  # a question, and what people write when they have read it
UTC = Days("UTC")
UNLIMITED = {
    "daily_token_limit": 0,
    "daily_user_tokens": 0,
    "daily_user_messages": 0,
    "daily_conversation_tokens": 0,
    "daily_conversation_messages": 0,
}
MakeFeature = Callable[[Services], Feature]

texts = cache(load)


async def ours() -> None:
    """No other process delivers (``bot.channels.AssertLease``)."""


class Mailbox(Channel):
    """A channel that keeps what it is given, or fails as it is told to."""

    name = "mailbox"
    style = "STYLE"

    def __init__(self) -> None:
        self.delivered: list[Delivery] = []
        self.failures: list[Exception] = []
        self.seen: list[LiveEvent] = []
        self.shown_at = SHOWN_AT

    def routes(self) -> Sequence[BaseRoute]:
        return ()

    @asynccontextmanager
    async def live_view(self, conversation: str, address: str) -> AsyncIterator[Mailbox]:
        yield self

    async def show(self, event: LiveEvent) -> None:
        self.seen.append(event)

    async def deliver(
        self, conversation: str, delivery: Delivery, assert_lease: AssertLease
    ) -> int:
        if self.failures:
            raise self.failures.pop(0)
        self.delivered.append(delivery)
        return self.shown_at

    @property
    def texts(self) -> list[str]:
        return [delivery.reply.text for delivery in self.delivered]


class Harness:
    """A conversation service on a real store, with a model that follows a script."""

    def __init__(
        self,
        store: Store,
        steps: Iterable[Any],
        box: Mailbox | None = None,
        tools: ToolMap | None = None,
        settings: Mapping[str, Any] = NO_FIELDS,
        days: Days = UTC,
        alert_to: str = "",
        tokens: int = 16_000,
        *,
        also: Iterable[MakeFeature] = (),
        hooks: Sequence[Hook] = (),
        models: Mapping[str, Provider] = MappingProxyType({}),
        other_models: Mapping[str, Provider] = NO_OTHERS,
        kind: type[Agent] = Agent,
        features: Iterable[Callable[[Services], Feature]] | None = None,
    ) -> None:
        self.store = store
        self.box = box or Mailbox()
        self.model = Scripted(steps)
        self.metrics = Metrics()
        agent = kind(self.model, tools or tool_map(Echo()), "SYSTEM", self.metrics, hooks=hooks)
        self.agent = agent
        options = ConversationSettings(
            history_tokens=tokens,
            days=days,
            alert_to=alert_to,
        )
        catalogue, channels = texts(), {self.box.name: self.box}
        parts = store, agent, channels, catalogue, self.metrics, options
        if features is None:
            features = [*features_with(settings), *also]
        self.runner = ConversationRunner(
            make_services(
                *parts,
                models=lambda names, _asker: models.get(names[0], self.model),
                other_models=other_models,
                features=features,
            ),
            agent,
        )
        self.intake = Intake(self.runner.services)

    async def receive(self, text: str, message_id: str, address: str = "") -> None:
        await self.arrive(InboundEvent(words(message_id, text), address))

    async def arrive(self, *events: InboundEvent) -> None:
        for event in events:
            assert await self.intake(HERE, event)

    async def process(self) -> None:
        """Answer and deliver what waits."""
        await self.runner.process(HERE)

    async def say(self, text: str, message_id: str, address: str = "") -> None:
        """Have a message answered."""
        await self.receive(text, message_id, address)
        await self.process()

    async def take(self, *events: InboundEvent) -> None:
        """Have events answered together."""
        await self.arrive(*events)
        await self.process()

    async def question(self) -> ButtonCard | None:
        """What a person is asked."""
        return await read_open_card(self.store, HERE)

    async def past(self) -> list[str]:
        """What was said."""
        return [message.text for message in await read_history(self.store, HERE)]


def features_with(settings: Mapping[str, Any]) -> list[MakeFeature]:
    """The features without those that ask the model by themselves, which would take its next
    step."""
    features = load_features(lambda config: config.model_construct(**{**UNLIMITED, **settings}))
    return [one for one in features if "history_grown" not in vars(one)]


def words(message_id: str, text: str, author: str = "u1") -> Message:
    """What somebody says."""
    return Message(message_id, "user", (Text(text),), WRITTEN_AT, Author(author))


def decision_of(
    press: Message, question: str, *, approved: bool, address: str = "", group: bool = False
) -> InboundEvent:
    """A pressed button of a question."""
    action = f"approval.{'approve' if approved else 'reject'}"
    return InboundEvent(press, address, group, event="action", target=question, action=action)


def edited(change_id: str, target: str, text: str) -> InboundEvent:
    """Other words for a message."""
    return InboundEvent(words(change_id, text), event="edited", target=target)


def unsent(change_id: str, target: str) -> InboundEvent:
    """A message taken back."""
    return InboundEvent(words(change_id, ""), event="unsent", target=target)
