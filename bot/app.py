"""The composition root: settings → parts → ASGI app and worker. The only module that knows every other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount

from bot.agent.loop import Agent, system_prompt
from bot.channels import Accept, Channel
from bot.channels.console import Console
from bot.channels.line import Line
from bot.channels.line import doctor as checkup
from bot.channels.line.admin import Admin, open_admin
from bot.checks import CheckResult
from bot.clock import Days
from bot.commands import SpokenCommands
from bot.conversation.alerts import Alerts
from bot.conversation.approvals import Policy
from bot.conversation.budgets import Budgets, Limits
from bot.conversation.history import HistoryWindow
from bot.conversation.intake import Intake, Jobs
from bot.conversation.replying import Defaults
from bot.conversation.runner import ConversationRunner, conversations
from bot.conversation.summarizer import Summarizer
from bot.errors import SettingsError, StoreUnavailable
from bot.metrics import Metrics
from bot.plugins import load_hooks, open_tools
from bot.providers.registry import open_models
from bot.settings import Settings
from bot.store import Store, open_store
from bot.store.embedded import open_embedded
from bot.texts import Texts, load
from bot.web.guard import Guard
from bot.web.health import dead_letters_route, health_routes, metrics_route
from bot.web.page import PageInfo, page_routes
from bot.worker import Worker
from toolset.tool import ToolMap

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
class Runtime:
    """The house at work.

    Attributes:
        store_full: tells the operator.
    """

    intake: Intake
    console: Console
    channels: dict[str, Channel]
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


def _summarist(house: House) -> Summarizer | None:
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
    house: House, jobs: Jobs, *, only_console: bool = False, listens: bool = False, works: bool = True
) -> AsyncIterator[Runtime]:
    """Ways in, channels and turns, joined to one another.

    Args:
        only_console: no other channel is spoken to.
        listens: this process takes messages in, also by Slack's Socket Mode.
        works: turns are taken here, and stop when somebody says so.
    """
    settings = house.settings
    intake = Intake(house.store, jobs, SpokenCommands(house.texts), house.metrics)
    channels: dict[str, Channel] = {}
    defaults = Defaults(settings.language, settings.timezone, settings.bot_name, settings.history_days)
    policy = Policy(settings.approval_mode, settings.approval_ttl_s, settings.approvers)
    days = Days(settings.timezone)
    alerts = Alerts(house.store, channels, house.texts, days, settings.language, settings.alert_to)
    budgets = Budgets(house.store, Limits.of(settings), days, alerts, house.metrics)
    past = HistoryWindow(house.store, house.agent.provider, _summarist(house), budgets, settings.history_tokens)
    care = conversations(
        house.store, house.agent, past, channels, house.texts, house.metrics, defaults, policy, budgets, alerts
    )
    console = Console(intake, house.store.live, care.past, care.question, house.texts, settings.language)
    channels[console.name] = console
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(aclosing(past))
        if settings.line_on and not only_console:
            channels["line"] = await stack.enter_async_context(aclosing(_line(house, intake, alerts)))
        if settings.slack_on and not only_console:
            channels["slack"] = await stack.enter_async_context(_slack(house, intake, listens=listens))
        if works:
            await stack.enter_async_context(care.listening())
        yield Runtime(intake, console, channels, care, partial(alerts.notice, "store_full"))


def _line(house: House, accept: Accept, alerts: Alerts) -> Line:
    settings = house.settings
    return Line(
        accept,
        house.store.kv,
        house.texts,
        channel_secret=settings.line_channel_secret.get_secret_value(),
        access_token=settings.line_channel_access_token.get_secret_value(),
        api_base_url=settings.line_api_base_url,
        data_api_base_url=settings.line_data_api_base_url,
        push=settings.line_push,
        month_used_up=partial(alerts.notice, "line_month", platform="line"),
        language=settings.language,
        allowed_users=settings.allowed_users,
        allowed_groups=settings.allowed_groups,
    )


def _slack(house: House, accept: Accept, *, listens: bool) -> Slack:
    from bot.channels.slack import Slack  # noqa: PLC0415 -- takes 0.4 s, only where Slack is on

    options = _slack_options(house.settings, listens=listens)
    store, commands = house.store, house.tools.commands
    return Slack(accept, store.kv, house.texts, options, commands, priority_kv=store.priority_kv)


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


def channel_checks(settings: Settings) -> dict[str, Callable[[], Awaitable[list[CheckResult]]]]:
    """What examines each channel for ``kaiwa doctor``, by its name in the report; called only where it is on."""

    async def line() -> list[CheckResult]:
        async with open_store_of(settings) as store, _line_admin(settings) as admin:
            return await checkup.run_checks(admin, store.kv)

    async def slack() -> list[CheckResult]:
        from bot.channels.slack.findings import run_checks  # noqa: PLC0415 -- as above

        async with open_store_of(settings) as store:
            return await run_checks(_slack_options(settings, listens=True), store.kv)

    return {"LINE": line, "Slack": slack}


async def set_line_webhook(settings: Settings, url: str) -> list[CheckResult]:
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
    guard = Middleware(
        Guard,
        token=settings.console_token,
        trusts_machine=not settings.webhooks_on,
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
