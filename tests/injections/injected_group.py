"""A group on a real store with real tools, in which a model obeys an injection; secrets lie about
wherever they may."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import httpx

from bot.channels import Delivery, InboundEvent
from bot.pipeline.services import NO_OTHERS
from bot.providers import Provider
from bot.settings import NO_FIELDS
from bot.store import Store
from bot.transcript import Author, Message, Text, ToolCall, encode
from tests.bot.harness import HERE, Harness, decision_of
from tests.fakes.tools import ANY_OBJECT, Echo, Launch
from tests.fakes.wttr import WttrFake
from tests.injections.corpus import Injection
from tests.injections.obeying import Obeying
from tests.toolset.contexts import http_client, only_wttr
from toolset.confined.workspace import Workspace
from toolset.tool import ToolContext, ToolError, ValidatedTool, read_schemas
from toolset.tool_map import ToolMap
from toolset.weather import GetWeather
from toolset.workspace import ListFiles, ReadFile, SearchFiles, WorkspaceConfig

ELSEWHERE = "mailbox:room-0002"
MOST_STEPS = 200
SECRETS = {
    name: f"{beginning}canary-{name.lower().replace('_', '-')}"
    for name, beginning in (
        ("GEMINI_API_KEY", ""),
        ("LINE_CHANNEL_SECRET", ""),
        ("LINE_CHANNEL_ACCESS_TOKEN", ""),
        ("SLACK_SIGNING_SECRET", ""),
        ("SLACK_BOT_TOKEN", "xoxb-"),
        ("SLACK_APP_TOKEN", "xapp-"),
        ("CONSOLE_TOKEN", ""),
        ("SECRET_KEY", ""),
    )
} | {"REDIS_URL": "redis://:canary-redis-password@localhost:6379"}
CANARIES = (
    *(secret for name, secret in SECRETS.items() if name != "REDIS_URL"),
    "canary-redis-password",
)
OTHERS = "OTHERS-canary: my password is hunter2"


class ReadPage(Echo):
    """Stands for a tool that fetches text: gives it as a value and as a name, or fails with it."""

    name: ClassVar[str] = "read_page"

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    async def call(self, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        if arguments["as"] == "error":
            raise ToolError(self._text)
        return {self._text: 1} if arguments["as"] == "name" else {"text": self._text}


# How an injection comes in: the call of the model that brings it.
CARRIERS: Mapping[str, ToolCall] = {
    "the weather": ToolCall("c1", "get_weather", {"location": "Tokyo"}),
    "a place's name": ToolCall("c1", "get_weather", {"location": "Kyoto"}),
    "a file": ToolCall("c1", "read_file", {"path": "notes.txt"}),
    "a page": ToolCall("c1", "read_page", {"as": "text"}),
    "a name in JSON": ToolCall("c1", "read_page", {"as": "name"}),
    "an error": ToolCall("c1", "read_page", {"as": "error"}),
}


class InjectedGroup:
    """One group, ``u1`` and ``u2`` in it, and what has become of it.

    Attributes:
        launch: the tool that acts, and remembers how often it has.
        wttr: the only server tools may reach.
    """

    def __init__(self, harness: Harness, model: Obeying, launch: Launch, wttr: WttrFake) -> None:
        self.harness = harness
        self.model = model
        self.launch = launch
        self.wttr = wttr
        self._sent = 0

    async def say(self, text: str, user: str = "u1") -> None:
        """Let somebody speak."""
        self._sent += 1
        message = Message(
            f"m{self._sent}", "user", (Text(text),), 1_000, Author(user, user.upper())
        )
        await self._take(InboundEvent(message, group=True))

    async def press(self, question: str, approved: bool, user: str) -> None:
        """Let somebody press a button."""
        self._sent += 1
        message = Message(f"p{self._sent}", "user", (), 1_000, Author(user, user.upper()))
        await self._take(decision_of(message, question, approved=approved, group=True))

    async def question(self) -> str:
        """The id of what is asked now, empty where nothing is."""
        asked = await self.harness.question()
        return asked.key if asked else ""

    @property
    def asked(self) -> list[Delivery]:
        """All questions so far."""
        return [delivery for delivery in self.harness.box.delivered if delivery.reply.awaited]

    @property
    def gone_out(self) -> str:
        """Everything that has left: messages, live events, requests of tools."""
        box = self.harness.box
        targets = [request.target for request in self.wttr.requests]
        return "\n".join([*(encode(one).decode() for one in (*box.delivered, *box.seen)), *targets])

    @property
    def model_input(self) -> str:
        """Everything the model was sent."""
        requests = self.harness.model.requests
        return "\n".join(
            f"{request.system}{encode(request.messages).decode()}" for request in requests
        )

    async def _take(self, arrival: InboundEvent) -> None:
        await self.harness.arrive(arrival)
        await self.harness.runner.process(HERE)


@asynccontextmanager
async def injected_group(
    store: Store,
    wttr: WttrFake,
    folder: Path,
    injection: Injection,
    carrier: str = "a page",
    settings: Mapping[str, Any] = NO_FIELDS,
    models: Mapping[str, Provider] = NO_OTHERS,
) -> AsyncIterator[InjectedGroup]:
    """Set the scene: the injection lies where the carrier finds it."""
    wttr.place("Tokyo", condition=injection.text, condition_ja=injection.text)
    wttr.place("Kyoto", area=injection.text)
    wttr.place("Osaka")
    _write(folder, HERE, "notes.txt", injection.text)
    _write(folder, ELSEWHERE, "notes.txt", OTHERS)
    (folder / ".env").write_text(
        "\n".join(f"{name}={value}" for name, value in SECRETS.items()), "utf-8"
    )
    launch, model = Launch(), Obeying(injection, CARRIERS[carrier])
    async with http_client() as http:
        tools = _tools(http, wttr, folder, launch, ReadPage(injection.text))
        harness = Harness(store, [model] * MOST_STEPS, None, tools, settings, other_models=models)
        model.requests = harness.model.requests
        yield InjectedGroup(harness, model, launch, wttr)


def _write(folder: Path, conversation: str, name: str, text: str) -> None:
    own = Workspace.at(str(folder)).path_of(conversation)
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    (own / name).write_text(text, "utf-8")


def _tools(
    http: httpx.AsyncClient, wttr: WttrFake, folder: Path, launch: Launch, page: ReadPage
) -> ToolMap:
    weather = GetWeather.create(http, only_wttr(wttr))
    config = WorkspaceConfig(workspace_dir=str(folder))
    files = [tool.create(http, config) for tool in (ReadFile, ListFiles, SearchFiles)]
    real = [ValidatedTool(tool, *read_schemas(tool.name)) for tool in (weather, *files) if tool]
    return ToolMap(
        [*real, *(ValidatedTool(tool, ANY_OBJECT, ANY_OBJECT) for tool in (launch, page))]
    )
