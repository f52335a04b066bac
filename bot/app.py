"""The composition root: settings → parts → ASGI app and worker. The only module that knows every other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from types import MappingProxyType

import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount

from bot.agent.loop import Agent, system_prompt
from bot.channels import Accept, Channel, Host, InboundEvent, line
from bot.channels.console.channel import Console
from bot.channels.registry import CHANNELS, ChannelEntry, channel_checks, open_channels
from bot.checks import CheckResult
from bot.commands import SpokenCommands
from bot.conversation.alerts import Alerts
from bot.conversation.history import read_history
from bot.conversation.intake import Intake, Jobs
from bot.conversation.journal import read_open_question
from bot.conversation.runner import ConversationRunner, build
from bot.conversation.services import ConversationSettings
from bot.conversation.summarizer import Summarizer
from bot.errors import SettingsError, StoreUnavailable
from bot.metrics import Metrics
from bot.plugins import load_hooks, open_tools
from bot.providers.registry import open_models
from bot.settings import Settings, channel_config
from bot.store import Store, open_store
from bot.store.embedded import open_embedded
from bot.texts import Texts, load
from bot.web.guard import Guard
from bot.web.health import dead_letters_route, health_routes, metrics_route
from bot.web.page import PageInfo, page_routes
from bot.worker import Worker
from toolset.tool import ToolMap

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
class Runtime:
    """The house at work.

    Attributes:
        store_full: tells the operator.
    """

    store: Store
    intake: Intake
    console: Console
    channels: Mapping[str, Channel]
    conversations: ConversationRunner
    store_full: Callable[[str], Awaitable[None]]


@asynccontextmanager
async def open_url(settings: Settings) -> AsyncIterator[str]:
    """The Redis to use: the operator's, or the bundled Valkey."""
    if settings.store_url:
        yield settings.store_url
    else:
        async with open_embedded(settings.kaiwa_data_dir) as url:
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
        metrics = Metrics()
        provider = await stack.enter_async_context(open_models(settings, metrics))
        hooks = load_hooks(settings)
        agent = Agent(provider, tools, persona(settings), metrics, settings.max_tool_turns, hooks)
        yield House(settings, url, store, metrics, load(), tools, agent)


def persona(settings: Settings) -> str:
    """The system prompt, before a channel's style: the operator's file or our own, and what holds with both."""
    texts = (settings.persona_file or files("bot.prompts") / "system.md", files("bot.prompts") / "data.md")
    return "\n\n".join(text.read_text("utf-8").strip() for text in texts).replace("{bot_name}", settings.bot_name)


def _summarizer(house: House) -> Summarizer | None:
    """The demo knows rules, and cannot tell what matters."""
    if house.settings.chosen_model == "demo":
        return None
    prompt = files("bot.prompts").joinpath("summary.md").read_text("utf-8").strip()
    return Summarizer(house.agent.provider, prompt, house.metrics)


def console_prompt(settings: Settings) -> str:
    """The whole system prompt of page and terminal, as the model gets it."""
    return system_prompt(persona(settings), Console.style)


@asynccontextmanager
async def wire(
    house: House,
    jobs: Jobs,
    *,
    only_console: bool = False,
    listens: bool = False,
    works: bool = True,
    registry: Sequence[ChannelEntry] = CHANNELS,
) -> AsyncIterator[Runtime]:
    """Ways in, channels and turns, joined to one another.

    Args:
        only_console: no other channel is spoken to.
        listens: this process takes messages in, also by Slack's Socket Mode.
        works: turns are taken here, and stop when somebody says so.
        registry: the channels there are.
    """
    settings, store, texts = house.settings, house.store, house.texts
    options = ConversationSettings.of(settings)
    intake = Intake(store, jobs, SpokenCommands(texts), house.metrics)
    alerts = Alerts(store, texts, options.days, settings.language, settings.alert_to)
    reads = partial(read_history, store), partial(read_open_question, store)
    console = Console(intake, store.live, *reads, texts, settings.language)
    channels: dict[str, Channel] = {console.name: console}
    async with AsyncExitStack() as stack:
        if not only_console:
            host = _host(house, intake, alerts, listens=listens)
            channels |= await stack.enter_async_context(open_channels(settings, host, registry))
        parts = store, house.agent, MappingProxyType(channels), texts, house.metrics, options
        runner = build(*parts, alerts=alerts, summarizer=_summarizer(house))
        await stack.enter_async_context(aclosing(runner.window))
        if works:
            await stack.enter_async_context(runner.cancellations.listen())
        yield Runtime(store, intake, console, runner.services.channels, runner, partial(alerts.notice, "store_full"))


def _host(house: House, accept: Accept, alerts: Alerts, *, listens: bool) -> Host:
    settings, store = house.settings, house.store
    return Host(
        accept,
        store.kv,
        store.priority_kv,
        house.texts,
        settings.language,
        settings.bot_name,
        alerts.notice,
        house.tools.commands,
        listens,
    )


async def _accept_nothing(conversation: str, event: InboundEvent) -> bool:
    """Take nothing in (``bot.channels.Accept``): a check listens to nobody."""
    raise NotImplementedError


def checks_of_channels(settings: Settings) -> dict[str, Callable[[], Awaitable[list[CheckResult]]]]:
    """What checks each channel for ``kaiwa doctor``, by its name in the report."""

    @asynccontextmanager
    async def open_host() -> AsyncIterator[Host]:
        async with open_store_of(settings) as store:
            yield Host(
                _accept_nothing, store.kv, store.priority_kv, load(), settings.language, settings.bot_name, listens=True
            )

    return channel_checks(settings, open_host)


async def set_line_webhook(settings: Settings, url: str) -> list[CheckResult]:
    """Have LINE post to Kaiwa at this address.

    Raises:
        SettingsError: LINE is off.
        BadInput: LINE cannot post to such an address.
    """
    config = channel_config(line.Config, settings)
    if not config.is_on:
        raise SettingsError("LINE_CHANNEL_ACCESS_TOKEN", "LINE is off; set this and LINE_CHANNEL_SECRET first")
    return await line.set_webhook(config, url)


def asgi(house: House, wired: Runtime, worker: Worker | None) -> Starlette:
    settings = house.settings

    async def ready() -> str:
        if wired.intake.closed:
            return "shutting down"
        try:
            await house.store.ping()
        except StoreUnavailable as error:
            log.warning("health.not_ready", cause=str(error))
            return "the store does not answer"
        return "" if worker is None or worker.alive else "the worker has stopped"

    info = PageInfo(
        settings.bot_name,
        house.agent.provider.model,
        demo=settings.chosen_model == "demo",
        language=settings.language,
        signs_out=bool(settings.console_token.get_secret_value()),
    )
    guarded = [
        *page_routes(info, house.texts),
        *wired.console.routes(),
        metrics_route(house.metrics, house.store),
        dead_letters_route(house.store.dead_letters),
    ]
    webhooks = [route for name, channel in wired.channels.items() if name != "console" for route in channel.routes()]
    guard = Middleware(
        Guard,
        token=settings.console_token,
        trusts_machine=not webhooks,  # with webhooks a proxy stands in front, and every visitor may look local
        secret=settings.secret_key,
        texts=house.texts,
        language=settings.language,
        bot_name=settings.bot_name,
    )
    routes = [*health_routes(ready), *webhooks, Mount("/", routes=guarded, middleware=[guard])]
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
