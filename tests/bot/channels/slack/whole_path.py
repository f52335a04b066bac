"""The whole path of Slack on a real store: signed webhooks in, turns with a scripted model, and what Slack shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import httpx
from starlette.applications import Starlette

from bot.agent.loop import Agent
from bot.channels import Channel, Host
from bot.channels.slack.channel import Slack
from bot.commands import SpokenCommands
from bot.conversation.intake import Intake
from bot.conversation.overviews import PersonalOverviews
from bot.conversation.runner import build
from bot.conversation.services import ConversationSettings
from bot.providers.scripted import Scripted
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from tests.bot.channels.slack.rig import QUICK, slack_config
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import as_form, as_interaction, as_json, signed
from tests.fakes.tools import Echo, tool_map
from toolset.tool_map import ToolMap

JSON = dict[str, Any]


class Pipeline:
    """One process: webhook, inbox, turns and channel."""

    def __init__(
        self,
        fake: SlackFake,
        store: Store,
        steps: Iterable[Any] = (),
        tools: ToolMap | None = None,
        options: ConversationSettings | None = None,
        **settings: Any,
    ) -> None:
        self.fake = fake
        self.due: list[str] = []
        self.model = Scripted(steps)
        metrics, texts, channels = Metrics(), load(), dict[str, Channel]()
        agent = Agent(self.model, tools or tool_map(Echo()), "SYSTEM", metrics)
        self.runner = build(store, agent, channels, texts, metrics, options or ConversationSettings())
        intake = Intake(store, self._start, SpokenCommands(texts), metrics)
        overviews = PersonalOverviews(self.runner.services)
        host = Host(intake, store.kv, store.priority_kv, texts, listens=nullcontext, overviews=overviews)
        self.slack = Slack(slack_config(fake.api_base_url, **settings), host, timing=QUICK)
        channels["slack"] = self.slack
        transport = httpx.ASGITransport(Starlette(routes=list(self.slack.routes())))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://kaiwa.test")

    def _start(self, conversation: str, _author: str) -> None:
        self.due.append(conversation)

    async def answer(self, payload: JSON) -> httpx.Response:
        """Send one signed webhook, without doing what follows."""
        form = as_json if "event" in payload else as_form if "command" in payload else as_interaction
        body = form(payload)
        return await self.http.post("/webhooks/slack", content=body, headers=signed(body))

    async def send(self, payload: JSON) -> httpx.Response:
        """The same, with all that follows."""
        response = await self.answer(payload)
        await self.work()
        return response

    async def work(self) -> None:
        """Do what a worker and the background tasks do."""
        while self.due:
            await self.runner.process(self.due.pop(0))
        await asyncio.wait_for(self.slack.tasks.join(), 10)


@asynccontextmanager
async def open_pipeline(
    fake: SlackFake, store: Store, steps: Iterable[Any] = (), **given: Any
) -> AsyncIterator[Pipeline]:
    """The process, while the context is open."""
    pipeline = given.pop("kind", Pipeline)(fake, store, steps, **given)
    async with pipeline.http, pipeline.slack:
        yield pipeline
