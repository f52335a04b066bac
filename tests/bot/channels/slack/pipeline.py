"""From a webhook to what people see: the channel with the real inbox, turn and outbox behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.applications import Starlette

from bot.agent.loop import Agent
from bot.channels.slack.channel import Slack
from bot.commands import SpokenCommands
from bot.conversation.intake import Intake
from bot.conversation.runner import ConversationRunner, build
from bot.conversation.services import ConversationSettings
from bot.providers.scripted import Scripted
from bot.store import Store
from bot.telemetry import Metrics
from tests.bot.channels.slack.rig import QUICK, slack_config, slack_host
from tests.bot.harness import texts
from tests.fakes.slack import SlackFake
from tests.fakes.slack_events import as_json, signed
from tests.fakes.slack_rules import JSON
from tests.fakes.tools import Echo, tool_map
from tests.waiting import until


@dataclass
class SlackPipeline:
    """Slack, the channel, and the conversation service.

    Attributes:
        due: conversations to process.
    """

    model: Scripted
    runner: ConversationRunner
    http: httpx.AsyncClient
    due: list[str]

    async def receive(self, *events: JSON) -> None:
        """Post events as Slack does, one by one."""
        for event in events:
            body = as_json(event)
            answer = await self.http.post("/webhooks/slack", content=body, headers=signed(body))
            assert answer.status_code == 200

    async def process(self) -> None:
        """Let a worker do what there is to do."""
        while self.due:
            await self.runner.process(self.due.pop(0))

    async def hear(self, *events: JSON) -> None:
        """Post events, and have them dealt with."""
        await self.receive(*events)
        await self.process()


@asynccontextmanager
async def open_pipeline(store: Store, fake: SlackFake, steps: Iterable[Any]) -> AsyncIterator[SlackPipeline]:
    """All of it on a real store, with a model that follows a script."""
    model, metrics, catalogue, due = Scripted(steps), Metrics(), texts(), list[str]()
    accept = Intake(store, lambda conversation, _: due.append(conversation), SpokenCommands(catalogue), metrics)
    slack = Slack(slack_config(fake.api_base_url), slack_host(accept, store.kv), timing=QUICK)
    agent = Agent(model, tool_map(Echo()), "SYSTEM", metrics)
    runner = build(store, agent, {"slack": slack}, catalogue, metrics, ConversationSettings())
    transport = httpx.ASGITransport(Starlette(routes=list(slack.routes())))
    async with httpx.AsyncClient(transport=transport, base_url="http://kaiwa.test") as http, slack:
        await until(lambda: bool(slack.identity.users))
        yield SlackPipeline(model, runner, http, due)
        await slack.tasks.join()
