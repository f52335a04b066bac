"""From a signed webhook to what people see: the channel with the real inbox, turn and outbox behind
it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Self

import httpx
from starlette.applications import Starlette

from bot.agent.loop import Agent
from bot.channels import Channel
from bot.channels.slack.channel import Slack
from bot.channels.slack.config import Timing
from bot.features.registry import load_features
from bot.pipeline.accept import Intake
from bot.pipeline.runner import ConversationRunner
from bot.pipeline.services import NO_OTHERS, ConversationSettings, make_services
from bot.providers import Provider
from bot.providers.scripted import Scripted
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from tests.bot.channels.slack.rig import QUICK, slack_config, slack_host
from tests.bot.harness import UNLIMITED
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import as_body, signed
from tests.fakes.slack_rules import JSON
from tests.fakes.tools import Echo, tool_map
from toolset.tool_map import ToolMap


class SlackPipeline:
    """One process on a real store, with a model that follows a script. It is open as a context.

    Attributes:
        due: conversations to process.
    """

    def __init__(
        self,
        store: Store,
        fake: SlackFake,
        steps: Iterable[Any] = (),
        tools: ToolMap | None = None,
        options: ConversationSettings | None = None,
        other_models: Mapping[str, Provider] = NO_OTHERS,
        timing: Timing = QUICK,
        **settings: Any,
    ) -> None:
        self.store, self.fake = store, fake
        self.due: list[str] = []
        self.model = Scripted(steps)
        texts, metrics, channels = load(), Metrics(), dict[str, Channel]()
        agent = Agent(self.model, tools or tool_map(Echo()), "SYSTEM", metrics)
        options = options or ConversationSettings()
        self.runner = ConversationRunner(
            make_services(
                store,
                agent,
                channels,
                texts,
                metrics,
                options,
                other_models=other_models,
                start=self._start,
                features=load_features(
                    lambda config: config.model_construct(**{**UNLIMITED, **settings})
                ),
            ),
            agent,
        )
        intake = Intake(self.runner.services)
        services = self.runner.services
        host = slack_host(
            intake,
            store.kv,
            overviews=services.features,
            find_conversation=store.inbox.find_conversation,
            settings_of=services.settings_of,
        )
        self.slack = Slack(slack_config(fake.api_base_url, **settings), host, timing=timing)
        channels["slack"] = self.slack
        transport = httpx.ASGITransport(Starlette(routes=list(self.slack.routes())))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://kaiwa.test")

    async def __aenter__(self) -> Self:
        await self.slack.__aenter__()
        await self.slack.check_access()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.slack.__aexit__()
        await self.http.aclose()

    def _start(self, conversation: str, _author: str) -> None:
        self.due.append(conversation)

    async def post(self, payload: JSON | bytes) -> httpx.Response:
        """Slack's webhook with an event, a command or an interaction, which is accepted."""
        body = payload if isinstance(payload, bytes) else as_body(payload)
        response = await self.http.post("/webhooks/slack", content=body, headers=signed(body))
        assert response.status_code == 200
        return response

    async def process(self) -> None:
        """Do what a worker and the background tasks do."""
        while self.due:
            due, self.due = list(dict.fromkeys(self.due)), []
            for conversation in due:
                await self.runner.process(conversation)
        await asyncio.wait_for(self.slack.tasks.join(), 10)

    async def send(self, payload: JSON | bytes) -> httpx.Response:
        """A webhook, with all that follows."""
        response = await self.post(payload)
        await self.process()
        return response
