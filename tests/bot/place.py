"""A conversation service on a real store, and a channel that keeps what it is given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.routing import BaseRoute

from bot.agent import Agent
from bot.answering import Answering, Defaults
from bot.channels import Arrival, Channel, Delivery
from bot.conversation import Conversations
from bot.live import LiveEvent
from bot.metrics import Metrics
from bot.providers.scripted import Scripted
from bot.store import Store
from bot.texts import load
from bot.transcript import Author, Message, Text, encode
from tests.fakes.tools import Echo, tool_map

HERE = "mailbox:room-0001"


class Mailbox(Channel):
    """A channel that keeps what it is given, or fails as it is told to."""

    name = "mailbox"
    style = "STYLE"

    def __init__(self) -> None:
        self.delivered: list[Delivery] = []
        self.failures: list[Exception] = []
        self.seen: list[LiveEvent] = []

    def routes(self) -> Sequence[BaseRoute]:
        return ()

    @asynccontextmanager
    async def showing(self, conversation: str, address: str) -> AsyncIterator[Mailbox]:
        yield self

    async def show(self, event: LiveEvent) -> None:
        self.seen.append(event)

    async def deliver(self, conversation: str, delivery: Delivery) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.delivered.append(delivery)

    @property
    def texts(self) -> list[str]:
        return [delivery.reply.text for delivery in self.delivered]


class Place:
    """A conversation service on a real store, with a model that plays a script."""

    def __init__(self, store: Store, steps: Iterable[Any], box: Mailbox | None = None) -> None:
        self.store = store
        self.box = box or Mailbox()
        self.model = Scripted(steps)
        self.metrics = Metrics()
        agent = Agent(self.model, tool_map(Echo()), "SYSTEM", self.metrics)
        channels = {"mailbox": self.box}
        answering = Answering(store, agent, channels, load(), self.metrics, Defaults("en", "UTC"))
        self.care = Conversations(store, answering, channels, self.metrics)

    async def hear(self, text: str, message_id: str, address: str = "") -> None:
        message = Message(message_id, "user", (Text(text),), 1_000, Author("u1"))
        assert await self.store.inbox.accept(HERE, message_id, encode(Arrival(message, address)))
