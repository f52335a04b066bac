"""From a webhook to what people see: the channel with the real inbox, turn and outbox behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.applications import Starlette

from bot.agent.loop import Agent
from bot.channels import NO_FILES, Channel, Files, Host
from bot.channels.line.channel import Line
from bot.clock import now_ms
from bot.features.registry import load_features
from bot.pipeline.accept import Intake
from bot.pipeline.runner import ConversationRunner
from bot.pipeline.services import NO_OTHERS, ConversationSettings, Defaults, make_services
from bot.providers import Provider
from bot.providers.scripted import Scripted
from bot.store import Store
from bot.telemetry import Metrics
from bot.transcript import Message
from tests.bot.channels.line.rig import line_config
from tests.bot.harness import UNLIMITED, texts
from tests.fakes.line import LineFake
from tests.fakes.line_events import JSON, webhook
from tests.fakes.tools import Echo, tool_map
from toolset.tool_map import ToolMap

DEFAULTS = Defaults()


@dataclass
class LinePipeline:
    """LINE, the channel, and the conversation service.

    Attributes:
        due: conversations to process.
        fake: LINE, whose time passes with the channel's clock.
    """

    model: Scripted
    runner: ConversationRunner
    http: httpx.AsyncClient
    due: list[str]
    fake: LineFake
    ahead_ms: int = 0

    def clock(self) -> int:
        """The channel's clock, milliseconds since the epoch."""
        return now_ms() + self.ahead_ms

    def wait(self, seconds: float) -> None:
        """Let time pass for the channel, and for LINE's reply tokens."""
        self.ahead_ms += round(seconds * 1000)
        self.fake.advance(seconds)

    async def receive(self, *events: JSON) -> None:
        """Post events as LINE does."""
        body, headers = webhook(*events)
        answer = await self.http.post("/webhooks/line", content=body, headers=headers)
        assert answer.status_code == 200

    async def process(self) -> None:
        """Let a worker do what there is to do."""
        for conversation in dict.fromkeys(self.due):
            await self.runner.process(conversation)
        self.due.clear()

    async def converse(self, *events: JSON) -> None:
        """Post events, and have them dealt with."""
        await self.receive(*events)
        await self.process()

    def asked(self) -> Message:
        """The newest message the model was given."""
        return self.model.requests[-1].messages[-1]


@asynccontextmanager
async def open_pipeline(
    store: Store,
    fake: LineFake,
    steps: Iterable[Any],
    *tools: Echo,
    files: Files = NO_FILES,
    toolset: ToolMap | None = None,
    other_models: Mapping[str, Provider] = NO_OTHERS,
    defaults: Defaults = DEFAULTS,
    patience_s: float = 10.0,
    **settings: Any,
) -> AsyncIterator[LinePipeline]:
    """All of it on a real store, with a model that follows a script.

    Args:
        toolset: in place of ``tools``.
        patience_s: for one request to LINE.
    """
    model, metrics, catalogue, due = Scripted(steps), Metrics(), texts(), list[str]()

    def start(conversation: str, _author: str) -> None:
        due.append(conversation)

    channels = dict[str, Channel]()

    def clock() -> int:
        return here.clock()

    agent = Agent(model, toolset or tool_map(*tools or (Echo(),)), "SYSTEM", metrics)
    options = ConversationSettings(defaults)
    runner = ConversationRunner(
        make_services(
            store,
            agent,
            channels,
            catalogue,
            metrics,
            options,
            other_models=other_models,
            start=start,
            features=load_features(
                lambda config: config.model_construct(**{**UNLIMITED, **settings})
            ),
        ),
        agent,
    )
    accept = Intake(runner.services)
    may_use = runner.services.features.limits.may_use
    host = Host(
        accept, store.kv, store.priority_kv, catalogue, files=files, clock=clock, may_use=may_use
    )
    channels["line"] = line = Line(
        line_config(fake.base_url, **settings), host, timeout_s=patience_s
    )
    runner.services.alerts.connect(channels)
    transport = httpx.ASGITransport(Starlette(routes=line.routes()))
    async with httpx.AsyncClient(transport=transport, base_url="http://kaiwa") as http, line:
        here = LinePipeline(model, runner, http, due, fake)
        yield here
