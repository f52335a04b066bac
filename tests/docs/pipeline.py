"""LINE and Slack on a real store, with the demo model and real tools, as the transcripts need
them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Protocol

import httpx
from pydantic import SecretStr
from starlette.applications import Starlette

from bot.agent.hooks import Hook, Intervention
from bot.agent.loop import Agent
from bot.channels import Channel, Host
from bot.features.choices.tools import OfferChoices
from bot.features.memory.tools import Remember
from bot.features.registry import load_features
from bot.features.reminders.tools import SetReminder
from bot.pipeline.accept import Intake
from bot.pipeline.runner import ConversationRunner
from bot.pipeline.services import ConversationSettings, Defaults, make_services
from bot.providers import MediaSupport
from bot.store import Store
from bot.telemetry import Metrics
from bot.texts import load
from bot.transcript import ToolCall
from bot.web.files import SignedFiles
from tests.bot.harness import UNLIMITED
from tests.docs.model import FILES, Model, Rule, Wait
from tests.docs.tools.book_room import BookRoom
from tests.docs.tools.invite import Invite
from tests.fakes.gemini import KEY, GeminiFake
from tests.fakes.wttr import WttrFake
from tests.project import ROOT
from tests.toolset.contexts import only_wttr
from toolset.create_image import CreateImage, CreateImageConfig
from toolset.tool import Tool, ToolContext, ValidatedTool, read_schemas
from toolset.tool_map import ToolMap
from toolset.weather import GetWeather


class Talk(Protocol):
    """People and the bot in one channel."""

    def channel(self, host: Host, /) -> AbstractAsyncContextManager[Channel]:
        """The channel, open."""
        ...

    async def wait(self, seen: str) -> None:
        """Return when people see what is named (``Wait``)."""
        ...


@dataclass(frozen=True, slots=True)
class Fakes:
    """What the tools ask: the weather, and a model for pictures."""

    wttr: WttrFake
    gemini: GeminiFake


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

    async def post(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        """Post a webhook."""
        assert (await self._http.post(path, content=body, headers=headers)).status_code == 200

    async def receive(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        """Post a webhook, and do what comes of it."""
        await self.post(path, body, headers)
        await self._process()


@asynccontextmanager
async def open_pipeline(
    store: Store,
    fakes: Fakes,
    talk: Talk,
    rules: Sequence[Rule],
    defaults: Defaults,
    media: MediaSupport = FILES,
    **settings: str,
) -> AsyncIterator[Pipeline]:
    """A pipeline while the context is open.

    Args:
        settings: of features.
        media: what the model hears, sees and reads.
    """
    catalogue, metrics, due, channels = load(), Metrics(), list[str](), dict[str, Channel]()

    def start(conversation: str, _author: str) -> None:
        due.append(conversation)

    async with httpx.AsyncClient() as tool_http:
        model = Model(rules, talk.wait, media)
        agent = Agent(model, _tools(tool_http, fakes), "SYSTEM", metrics, hooks=[Seen(talk.wait)])
        options = ConversationSettings(defaults)
        parts = store, agent, channels, catalogue, metrics, options
        features = load_features(lambda config: config.model_validate({**UNLIMITED, **settings}))
        runner = ConversationRunner(make_services(*parts, start=start, features=features), agent)
        accept = Intake(runner.services)
        host = Host(
            accept,
            store.kv,
            store.priority_kv,
            catalogue,
            defaults.language,
            listens=nullcontext,
            overviews=runner.services.features,
            find_conversation=store.inbox.find_conversation,
            files=SignedFiles(store.files, SecretStr(""), "https://kaiwa.test"),
        )

        async def process() -> None:
            while due:
                await runner.process(due.pop(0))

        async with talk.channel(host) as channel:
            channels[channel.name] = channel
            transport = httpx.ASGITransport(Starlette(routes=list(channel.routes())))
            async with httpx.AsyncClient(transport=transport, base_url="http://kaiwa.test") as http:
                yield Pipeline(http, process)


def _tools(http: httpx.AsyncClient, fakes: Fakes) -> ToolMap:
    image = CreateImage.create(
        http,
        CreateImageConfig(
            image_model="gemini-3.1-flash-image",
            gemini_api_key=SecretStr(KEY),
            google_gemini_base_url=fakes.gemini.base_url,
        ),
    )
    assert image is not None
    weather = GetWeather.create(http, only_wttr(fakes.wttr))
    ours: tuple[Tool, ...] = (weather, OfferChoices(), SetReminder(), Remember(), image)
    examples: tuple[Tool, ...] = (BookRoom(), Invite())
    own: Traversable = ROOT / "tests" / "docs" / "tools" / "schemas"
    folders = [*((tool, files("schemas")) for tool in ours), *((tool, own) for tool in examples)]
    return ToolMap(
        ValidatedTool(tool, *read_schemas(tool.name, folder)) for tool, folder in folders
    )
