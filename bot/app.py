"""The composition root: settings → parts → ASGI app and worker. The only module that knows every other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import httpx
import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount

import toolset
from bot.agent import Agent, system_prompt
from bot.answering import Answering
from bot.channels import Accept, Channel
from bot.channels.console import Console
from bot.channels.line import Line, checkup
from bot.channels.line.admin import Admin, open_admin
from bot.conversation import Conversations
from bot.errors import SettingsError, StoreUnavailable
from bot.findings import Finding
from bot.intake import Intake, Jobs
from bot.metrics import Metrics
from bot.providers import Provider
from bot.providers.demo import Demo
from bot.providers.retrying import Retrying
from bot.replying import Defaults
from bot.settings import Settings, tool_config
from bot.spoken_commands import SpokenCommands
from bot.store import Store, open_store
from bot.store.embedded import embedded
from bot.texts import Texts, load
from bot.web.guard import Guard
from bot.web.health import health_routes, metrics_route
from bot.web.page import PageInfo, page_routes
from bot.web.undelivered import undelivered_route
from bot.worker import Worker
from toolset.tool import ToolMap, ToolSetupError

if TYPE_CHECKING:
    from bot.channels.slack import Options, Slack

log = structlog.stdlib.get_logger(__name__)

START_TRIES = 4  # one a second, to reach the store


@dataclass(frozen=True, slots=True)
class House:
    """The parts of one process, built and open."""

    settings: Settings
    url: str
    store: Store
    metrics: Metrics
    texts: Texts
    tools: ToolMap
    agent: Agent


@dataclass(frozen=True, slots=True)
class Wired:
    """The house at work."""

    intake: Intake
    console: Console
    channels: dict[str, Channel]
    conversations: Conversations


@asynccontextmanager
async def open_tools(settings: Settings) -> AsyncIterator[ToolMap]:
    """The tools of the folder, with the HTTP client they share.

    Raises:
        SettingsError: a tool's variable is wrong, or a tool cannot be offered.
    """
    async with httpx.AsyncClient() as http:
        try:
            tools = toolset.build(toolset.find(), http, tool_config)
        except ToolSetupError as error:
            raise SettingsError("toolset", str(error)) from error
        yield tools.low_risk() if settings.read_only else tools


@asynccontextmanager
async def open_provider(settings: Settings) -> AsyncIterator[Provider]:
    """The chosen model, with its retries."""
    provider = Retrying([_provider(settings, load())])
    try:
        yield provider
    finally:
        await provider.aclose()


@asynccontextmanager
async def open_url(settings: Settings) -> AsyncIterator[str]:
    """The Redis to use: the operator's, or the bundled Valkey."""
    if settings.store_url:
        yield settings.store_url
    else:
        async with embedded(settings.kaiwa_data_dir) as url:
            yield url


@asynccontextmanager
async def open_store_of(settings: Settings) -> AsyncIterator[Store]:
    """The store alone."""
    async with open_url(settings) as url, open_store(url, history_days=settings.history_days) as store:
        yield store


@asynccontextmanager
async def open_house(settings: Settings) -> AsyncIterator[House]:
    """Everything a process needs, whatever its work is."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(open_url(settings))
        store = await stack.enter_async_context(open_store(url, history_days=settings.history_days))
        await _reach(store)
        tools = await stack.enter_async_context(open_tools(settings))
        provider = await stack.enter_async_context(open_provider(settings))
        metrics = Metrics()
        agent = Agent(provider, tools, persona(settings), metrics, settings.max_tool_turns)
        yield House(settings, url, store, metrics, load(), tools, agent)


def persona(settings: Settings) -> str:
    """The system prompt, before a channel's style: the operator's file or our own."""
    path = settings.persona_file or files("bot.prompts") / "system.md"
    return path.read_text("utf-8").strip().replace("{bot_name}", settings.bot_name)


def console_prompt(settings: Settings) -> str:
    """The whole system prompt of page and terminal, as the model gets it."""
    return system_prompt(persona(settings), Console.style)


@asynccontextmanager
async def wire(house: House, jobs: Jobs, *, only_console: bool = False, listens: bool = False) -> AsyncIterator[Wired]:
    """Ways in, channels and turns, joined to one another.

    Args:
        only_console: no other channel is spoken to.
        listens: this process takes messages in, also by Slack's Socket Mode.
    """
    settings = house.settings
    commands = SpokenCommands(house.texts)
    intake = Intake(house.store, jobs, commands, house.metrics)
    channels: dict[str, Channel] = {}
    defaults = Defaults(settings.language, settings.timezone, settings.bot_name, settings.history_days)
    answering = Answering(house.store, house.agent, channels, house.texts, commands, house.metrics, defaults)
    conversations = Conversations(house.store, answering, channels, house.metrics)
    console = Console(intake, house.store.live, conversations.past, house.texts, settings.language)
    channels[console.name] = console
    async with AsyncExitStack() as stack:
        if settings.line_on and not only_console:
            channels["line"] = await stack.enter_async_context(aclosing(_line(house, intake)))
        if settings.slack_on and not only_console:
            channels["slack"] = await stack.enter_async_context(_slack(house, intake, listens=listens))
        yield Wired(intake, console, channels, conversations)


def _line(house: House, accept: Accept) -> Line:
    settings = house.settings
    return Line(
        accept,
        house.store.notes,
        house.texts,
        channel_secret=settings.line_channel_secret.get_secret_value(),
        access_token=settings.line_channel_access_token.get_secret_value(),
        api_base_url=settings.line_api_base_url,
        data_api_base_url=settings.line_data_api_base_url,
        push=settings.line_push,
        language=settings.language,
        allowed_users=settings.allowed_users,
        allowed_groups=settings.allowed_groups,
    )


def _slack(house: House, accept: Accept, *, listens: bool) -> Slack:
    from bot.channels.slack import Slack  # noqa: PLC0415 -- takes 0.4 s, only where Slack is on

    return Slack(accept, house.store.notes, house.texts, _slack_options(house.settings, listens=listens))


def _slack_options(settings: Settings, *, listens: bool) -> Options:
    from bot.channels.slack import Options  # noqa: PLC0415 -- as above

    return Options(
        signing_secret=settings.slack_signing_secret.get_secret_value(),
        bot_token=settings.slack_bot_token.get_secret_value(),
        app_token=settings.slack_app_token.get_secret_value() if listens else "",
        api_base_url=settings.slack_api_base_url,
        language=settings.language,
        bot_name=settings.bot_name,
        allowed_users=settings.allowed_users,
        allowed_channels=settings.allowed_channels,
        follow_threads=settings.slack_follow_threads,
    )


def examinations(settings: Settings) -> dict[str, Callable[[], Awaitable[list[Finding]]]]:
    """What examines each channel for ``kaiwa doctor``, by its name in the report; called only where it is on."""

    async def line() -> list[Finding]:
        async with open_store_of(settings) as store, _line_admin(settings) as admin:
            return await checkup.examine(admin, store.notes)

    async def slack() -> list[Finding]:
        from bot.channels.slack.findings import examine  # noqa: PLC0415 -- as above

        async with open_store_of(settings) as store:
            return await examine(_slack_options(settings, listens=True), store.notes)

    return {"LINE": line, "Slack": slack}


async def set_line_webhook(settings: Settings, url: str) -> list[Finding]:
    """Have LINE post to Kaiwa at this address.

    Raises:
        SettingsError: LINE is off.
        BadInput: LINE cannot post to such an address.
    """
    if not settings.line_on:
        raise SettingsError("LINE_CHANNEL_ACCESS_TOKEN", "LINE is off; set this and LINE_CHANNEL_SECRET first")
    async with _line_admin(settings) as admin:
        return await checkup.set_webhook(admin, url)


def _line_admin(settings: Settings) -> AbstractAsyncContextManager[Admin]:
    return open_admin(settings.line_channel_access_token.get_secret_value(), settings.line_api_base_url)


def asgi(house: House, wired: Wired, worker: Worker | None) -> Starlette:
    settings = house.settings

    async def ready() -> str:
        if wired.intake.closed:
            return "shutting down"
        try:
            await house.store.ping()
        except StoreUnavailable as error:
            log.warning("not ready", store=str(error))
            return "the store does not answer"
        return "" if worker is None or worker.alive else "the worker has stopped"

    info = PageInfo(settings.bot_name, house.agent.provider.model, settings.chosen_model == "demo", settings.language)
    guarded = [
        *page_routes(info, house.texts),
        *wired.console.routes(),
        metrics_route(house.metrics, house.store),
        undelivered_route(house.store.dead_letters),
    ]
    guard = Middleware(
        Guard,
        token=settings.console_token,
        secret=settings.secret_key,
        texts=house.texts,
        language=settings.language,
        bot_name=settings.bot_name,
    )
    channels = [route for name, channel in wired.channels.items() if name != "console" for route in channel.routes()]
    routes = [*health_routes(ready), *channels, Mount("/", routes=guarded, middleware=[guard])]
    return Starlette(routes=routes)


async def _reach(store: Store) -> None:
    """Wait a moment for a store that is still starting; a wrong address is better told than waited for."""
    for tries_left in reversed(range(START_TRIES)):
        try:
            await store.ping()
        except StoreUnavailable:
            if not tries_left:
                raise
            await asyncio.sleep(1)
        else:
            return


def _provider(settings: Settings, texts: Texts) -> Provider:
    kind, _, model = settings.chosen_model.partition(":")
    if kind == "gemini":
        from bot.providers.gemini import Gemini  # noqa: PLC0415 -- takes 0.6 s, only where Gemini is chosen

        return Gemini(
            api_key=settings.gemini_api_key.get_secret_value(),
            model=model,
            base_url=settings.google_gemini_base_url,
            max_output_tokens=settings.max_output_tokens,
            thinking_level=settings.thinking_level,
        )
    return Demo(texts, settings.language)
