"""LINE and Slack on a real store, with the demo model and real tools, as the transcripts need them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable

import httpx
from starlette.applications import Starlette

from bot.agent.hooks import Hook, Intervention
from bot.agent.loop import Agent
from bot.channels import Accept, Channel
from bot.commands import SpokenCommands
from bot.conversation.intake import Intake
from bot.conversation.runner import build
from bot.conversation.services import ConversationSettings, Defaults
from bot.providers import AUTO, Completed, ModelResponse, StreamEvent, ToolChoice
from bot.providers.demo.client import Demo
from bot.providers.retry_policy import FIRST_TOKEN_TIMEOUT_S
from bot.providers.scripted import Scripted, Step
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from bot.transcript import Message, ToolCall
from tests.docs.tools.remind import Remind
from tests.fakes.wttr import WttrFake
from tests.project import ROOT
from tests.toolset.contexts import only_wttr
from toolset.choices import OfferChoices
from toolset.tool import Tool, ToolContext, ToolDefinition, ValidatedTool, read_schemas
from toolset.tool_map import ToolMap
from toolset.weather import GetWeather

OpenChannel = Callable[[Accept, Store], AbstractAsyncContextManager[Channel]]
Wait = Callable[[str], Awaitable[None]]
"""Returns when people see what is named: ``thinking``, a tool, or ``text`` (an answer under way)."""

# What the demo model cannot know: a request, and the answer; for reminders also the call it leads to.
REMINDERS = {
    "Remind me at 18:00 to call Hanako.": Step(
        "I will remind you at 18:00.", (ToolCall("", "remind", {"at": "18:00", "text": "Call Hanako"}),)
    ),
    "18時に花子さんへの電話をリマインドして": Step(
        "18時にお知らせします。", (ToolCall("", "remind", {"at": "18:00", "text": "花子さんに電話"}),)
    ),
}
TABLES = {
    "Compare Tokyo and Osaka in a table.": "In short:\n\n| City | People | Known for |\n|---|---|---|\n"
    "| Tokyo | 14 million | sushi |\n| Osaka | 2.7 million | okonomiyaki |",
    "東京と大阪を表で比べて": "短くまとめると：\n\n| 都市 | 人口 | 名物 |\n|---|---|---|\n"
    "| 東京 | 1400万人 | 寿司 |\n| 大阪 | 270万人 | お好み焼き |",
}
REFUSED = {
    "I will remind you at 18:00.": "All right, no reminder.",
    "18時にお知らせします。": "わかりました。お知らせしません。",
}


class Model(Demo):
    """The demo model, with a rule more for reminders and tables; it goes on when people have seen the step before."""

    def __init__(self, wait: Wait) -> None:
        super().__init__(load())
        self._wait = wait

    async def stream(
        self,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        tool_choice: ToolChoice = AUTO,
        first_token_timeout_s: float = FIRST_TOKEN_TIMEOUT_S,
    ) -> AsyncGenerator[StreamEvent]:
        """Answer like the demo, but for reminders and tables."""
        await self._wait("thinking")
        request = next(message.text for message in reversed(messages) if message.text and message.role == "user")
        step = next((step for words, step in REMINDERS.items() if words in request), None)
        if table := next((table for words, table in TABLES.items() if words in request), None):
            source = Scripted([Step(table)]).stream(system, messages, tools, tool_choice)
        elif step is None:
            source = super().stream(system, messages, tools, tool_choice)
        else:
            source = Scripted([_reminder(step, messages[-1])]).stream(system, messages, tools, tool_choice)
        async for event in source:
            if isinstance(event, Completed) and _is_long(event.response):
                await self._wait("text")
            yield event


def _reminder(step: Step, newest: Message) -> Step:
    """The call first; after its result the words."""
    if not newest.results:
        return Step(calls=step.calls)
    return Step(REFUSED[step.text] if newest.results[0].is_rejected else step.text)


def _is_long(response: ModelResponse) -> bool:
    return len(response.message.text) > 80


class Seen(Hook):
    """Holds a call back until people have seen that its tool runs."""

    def __init__(self, wait: Wait) -> None:
        self._wait = wait

    async def before(self, call: ToolCall, context: ToolContext) -> Intervention:
        """Nothing but the wait."""
        await self._wait(call.name)
        return None


class Pipeline:
    """One channel from its webhook to what people see."""

    def __init__(self, http: httpx.AsyncClient, process: Callable[[], Awaitable[None]]) -> None:
        self._http = http
        self._process = process

    async def receive(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        """Post a webhook, and do what comes of it."""
        assert (await self._http.post(path, content=body, headers=headers)).status_code == 200
        await self._process()


@asynccontextmanager
async def open_pipeline(
    store: Store, wttr: WttrFake, wait: Wait, open_channel: OpenChannel, language: str
) -> AsyncIterator[Pipeline]:
    """A pipeline while the context is open.

    Args:
        language: of the bot's own sentences, where a message does not tell it.
    """
    catalogue, metrics, due = load(), Metrics(), list[str]()
    settings = ConversationSettings(Defaults(language))
    accept = Intake(store, lambda conversation, _: due.append(conversation), SpokenCommands(catalogue), metrics)
    async with httpx.AsyncClient() as tool_http, open_channel(accept, store) as channel:
        agent = Agent(Model(wait), _tools(tool_http, wttr), "SYSTEM", metrics, hooks=[Seen(wait)])
        runner = build(store, agent, {channel.name: channel}, catalogue, metrics, settings)

        async def process() -> None:
            while due:
                await runner.process(due.pop(0))

        transport = httpx.ASGITransport(Starlette(routes=list(channel.routes())))
        async with httpx.AsyncClient(transport=transport, base_url="http://kaiwa.test") as http:
            yield Pipeline(http, process)


def _tools(http: httpx.AsyncClient, wttr: WttrFake) -> ToolMap:
    weather = GetWeather.create(http, only_wttr(wttr))
    tools: tuple[tuple[Tool, Traversable], ...] = (
        (weather, files("schemas")),
        (OfferChoices(), files("schemas")),
        (Remind(), ROOT / "tests" / "docs" / "tools" / "schemas"),
    )
    return ToolMap(ValidatedTool(tool, *read_schemas(tool.name, folder)) for tool, folder in tools)
