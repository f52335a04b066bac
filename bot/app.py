"""The composition root: builds everything from the settings. The only module that knows all
others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    aclosing,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from itertools import chain
from pathlib import Path
from types import MappingProxyType

import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount

from bot.agent.loop import Agent, system_prompt
from bot.channels import Accept, ButtonCard, Channel, Host, InboundEvent, Listens, line
from bot.channels.console.channel import Console, Reads
from bot.channels.console.uploads import MOST_UPLOAD
from bot.channels.line.doctor import set_up
from bot.channels.registry import (
    CHANNELS,
    ChannelEntry,
    channel_checks,
    open_channels,
    open_to_everybody,
)
from bot.checks import CheckResult
from bot.clock import Days
from bot.errors import SettingsError, StoreUnavailable
from bot.features.registry import load_features
from bot.mcp_server.route import mcp_route
from bot.ops.mcp_servers import check_servers
from bot.pipeline.accept import Intake, Refusals
from bot.pipeline.feature import Feature
from bot.pipeline.history import read_history
from bot.pipeline.journal import read_open_card
from bot.pipeline.runner import ConversationRunner
from bot.pipeline.services import (
    NO_LIMITS,
    ConversationSettings,
    Defaults,
    Features,
    FindModel,
    Start,
    make_services,
)
from bot.pipeline.services import Services as ConversationServices
from bot.plugins import load_hooks, mcp_servers, open_mcp, open_tools
from bot.providers import Provider
from bot.providers.registry import Models, open_reviewers
from bot.settings import Settings, config_beside
from bot.store import FORMAT, Store, open_store
from bot.store.embedded import Part, ValkeyServer, open_embedded
from bot.store.files import FILES_BYTES, OWN_SERVER_FILES_BYTES
from bot.tasks import hold_lock, run_beside
from bot.telemetry import Metrics
from bot.texts import Texts, load
from bot.transcript import Message
from bot.web.files import SignedFiles, StoredUploads
from bot.web.guard import Guard
from bot.web.health import dead_letters_route, health_routes, metrics_route
from bot.web.page import PageInfo, page_routes
from bot.web.signin import SignIn
from bot.worker import Worker
from toolset.tool_map import ToolMap

log = structlog.stdlib.get_logger(__name__)

LISTENS_POLL_S = 0.5  # until another process takes over a connection to a platform
START_TRIES = 4  # pings of the store at start, one a second


@dataclass(frozen=True, slots=True)
class ProcessServices:
    """What every process needs, opened.

    Attributes:
        shared: the folder of the processes that share a port; None: this one has its port for
            itself.
    """

    settings: Settings
    store: Store
    metrics: Metrics
    texts: Texts
    tools: ToolMap
    agent: Agent
    models: FindModel
    other_models: Mapping[str, Provider]
    shared: Path | None = None


@dataclass(frozen=True, slots=True)
class Runtime:
    """The intake, the channels and the turns of one process.

    Attributes:
        files: of tool calls.
    """

    store: Store
    intake: Intake
    refusals: Refusals
    console: Console
    channels: Mapping[str, Channel]
    conversations: ConversationRunner
    files: SignedFiles


@asynccontextmanager
async def open_url(settings: Settings, part: Part = "connects") -> AsyncIterator[str]:
    """The URL of the Redis to use: the operator's, or the bundled Valkey.

    Args:
        part: what this process may do with the bundled Valkey.
    """
    if settings.store_url:
        yield settings.store_url
    else:
        async with open_embedded(settings.kaiwa_data_dir, part) as url:
            yield url


@asynccontextmanager
async def open_store_of(settings: Settings) -> AsyncIterator[Store]:
    """Only the store, for commands that need nothing else.

    Raises:
        StoreUnavailable: neither REDIS_URL is set nor does a Kaiwa run with this folder.
    """
    async with open_url(settings) as url, _open_store(url, settings) as store:
        yield store


def _open_store(url: str, settings: Settings) -> AbstractAsyncContextManager[Store]:
    return open_store(
        url,
        history_days=settings.history_days,
        max_connections=settings.store_connections,
        files_bytes=OWN_SERVER_FILES_BYTES if settings.store_url else FILES_BYTES,
    )


@asynccontextmanager
async def open_services(
    settings: Settings, url: str, shared: Path | None = None
) -> AsyncIterator[ProcessServices]:
    """Open the store, the tools, the models and the agent.

    Args:
        url: of the store.
        shared: the folder of the processes that share a port.

    Raises:
        SettingsError: a variable is wrong.
        StoreUnavailable: the store does not answer within a few seconds.
    """
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(_open_store(url, settings))
        await _wait_for(store)
        await check_format(store, settings)
        await store.clock.read()
        await stack.enter_async_context(run_beside(store.clock.follow()))
        tools = await stack.enter_async_context(open_tools(settings))
        await stack.enter_async_context(open_mcp(settings, tools, store.tool_pins))
        metrics = Metrics(shared)
        models = await stack.enter_async_context(aclosing(Models(settings, metrics)))
        hooks = load_hooks(settings)
        agent = Agent(
            models.find(settings.models),
            tools,
            persona(settings),
            metrics=metrics,
            max_tool_turns=settings.max_tool_turns,
            hooks=hooks,
            rules=_prompt("data"),
        )
        reviewers = await stack.enter_async_context(open_reviewers(settings, metrics))
        yield ProcessServices(
            settings,
            store,
            metrics,
            texts=load(),
            tools=tools,
            agent=agent,
            models=models.find,
            other_models=reviewers,
            shared=shared,
        )


def persona(settings: Settings) -> str:
    """The system prompt without a channel's style: the operator's file or ``system.md``, then
    ``data.md``."""
    texts = (
        settings.persona_file or files("bot.prompts") / "system.md",
        files("bot.prompts") / "data.md",
    )
    return "\n\n".join(text.read_text("utf-8").strip() for text in texts).replace(
        "{bot_name}", settings.bot_name
    )


def _prompt(name: str) -> str:
    return files("bot.prompts").joinpath(f"{name}.md").read_text("utf-8").strip()


def console_prompt(settings: Settings) -> str:
    """The whole system prompt of page and terminal."""
    return system_prompt(persona(settings), Console.style)


@asynccontextmanager
async def open_runtime(
    services: ProcessServices,
    start: Start,
    *,
    only_console: bool = False,
    listens: bool = False,
    works: bool = True,
    registry: Sequence[ChannelEntry] = CHANNELS,
) -> AsyncIterator[Runtime]:
    """Open the channels and connect intake, channels and turns.

    Args:
        start: tells this process's worker of a conversation that is due.
        only_console: open no other channel.
        listens: this process accepts messages, also through Slack's Socket Mode.
        works: this process runs turns.
        registry: all channels that exist.
    """
    settings, store, texts = services.settings, services.store, services.texts
    channels: dict[str, Channel] = {}
    signed = SignedFiles(store.files, settings.secret_key, settings.public_url)
    parts = (
        store,
        services.agent,
        MappingProxyType(channels),
        texts,
        services.metrics,
        _options(settings),
    )
    conversations = make_services(
        *parts,
        models=services.models,
        other_models=services.other_models,
        start=start,
        features=load_features(partial(config_beside, settings=settings)),
    )
    runner = ConversationRunner(conversations, services.agent)
    if not only_console:
        check_limits(settings, conversations.features, registry)
    intake, alerts = Intake(conversations), conversations.alerts
    refusals = Refusals(intake, services.metrics, partial(alerts.notice, "webhooks_refused"))
    console = _console(services, refusals, signed, conversations.features)
    channels[console.name] = console
    async with AsyncExitStack() as stack:
        if not only_console:
            host = _host(services, refusals, signed, conversations, listens=listens)
            channels |= await stack.enter_async_context(open_channels(settings, host, registry))
            alerts.connect(channels)
        await stack.enter_async_context(aclosing(conversations.features))
        if works:
            await stack.enter_async_context(runner.interrupts.listen())
        yield Runtime(
            store,
            intake,
            refusals,
            console=console,
            channels=channels,
            conversations=runner,
            files=signed,
        )


def _options(settings: Settings) -> ConversationSettings:
    zone = settings.timezone
    defaults = Defaults(settings.language, zone, settings.bot_name, settings.history_days)
    return ConversationSettings(defaults, settings.history_tokens, Days(zone), settings.alert_to)


def _console(
    services: ProcessServices, accept: Accept, files: SignedFiles, features: Features
) -> Console:
    store = services.store

    async def read_cards(conversation: str, messages: Sequence[Message]) -> list[ButtonCard]:
        asked = features.each(Feature.cards, conversation, messages)
        shown, waits = await asyncio.gather(asked, read_open_card(store, conversation))
        return [*chain(*shown), *([waits] if waits else [])]

    reads = Reads(
        partial(read_history, store),
        read_cards,
        files,
        title=services.agent.tools.title,
    )
    uploads = StoredUploads(store.files)
    language = services.settings.language
    return Console(accept, store.live, reads, services.texts, language=language, uploads=uploads)


def _host(
    services: ProcessServices,
    accept: Accept,
    signed: SignedFiles,
    conversations: ConversationServices,
    *,
    listens: bool,
) -> Host:
    settings, store = services.settings, services.store
    lock = services.shared / "listens.lock" if services.shared else None
    listening: Listens = partial(hold_lock, lock, LISTENS_POLL_S) if lock else nullcontext
    return Host(
        accept,
        store.kv,
        store.priority_kv,
        texts=services.texts,
        language=settings.language,
        bot_name=settings.bot_name,
        notify=conversations.alerts.notice,
        tool_commands=services.tools.commands,
        listens=listening if listens else None,
        files=signed,
        clock=store.clock,
        days=settings.history_days,
        overviews=conversations.features,
        find_conversation=store.inbox.find_conversation,
        may_use=conversations.features.limits.may_use,
    )


async def _accept_nothing(conversation: str, event: InboundEvent) -> bool:
    """Stands for the intake (``bot.channels.Accept``) in checks, where no channel accepts
    messages."""
    raise NotImplementedError


def checks_of_channels(settings: Settings) -> dict[str, Callable[[], Awaitable[list[CheckResult]]]]:
    """The checks of ``kaiwa doctor`` for each channel, by the channel's name in the report."""

    @asynccontextmanager
    async def open_host() -> AsyncIterator[Host]:
        # Most checks need no store, and may come before the first start.
        url = settings.store_url or ValkeyServer(settings.kaiwa_data_dir.resolve()).url
        async with _open_store(url, settings) as store:
            yield Host(
                _accept_nothing,
                store.kv,
                store.priority_kv,
                texts=load(),
                language=settings.language,
                bot_name=settings.bot_name,
            )

    return channel_checks(settings, open_host)


def checks_of_mcp(settings: Settings) -> dict[str, Callable[[], Awaitable[list[CheckResult]]]]:
    """The check of ``kaiwa doctor`` for MCP servers; none where MCP_SERVERS is empty.

    Raises:
        SettingsError: MCP_SERVERS or MCP_TRUST is wrong.
    """

    async def check() -> list[CheckResult]:
        async with open_store_of(settings) as store:
            return await check_servers(settings, store.tool_pins)

    return {"mcp": check} if mcp_servers(settings) else {}


async def set_up_line(settings: Settings, url: str) -> list[CheckResult]:
    """Set the webhook URL and the menu at LINE.

    Raises:
        SettingsError: LINE is off.
        BadInput: LINE cannot use this URL.
    """
    config = config_beside(line.Config, settings)
    if not config.is_on:
        raise SettingsError(
            "LINE_CHANNEL_ACCESS_TOKEN", "LINE is off; set this and LINE_CHANNEL_SECRET first"
        )
    return await set_up(config, url, load(), settings.language)


def asgi(services: ProcessServices, runtime: Runtime, worker: Worker | None) -> Starlette:
    """The web application: health routes, webhooks, and page, console and metrics behind
    ``Guard``."""
    settings = services.settings

    async def ready() -> str:
        if runtime.intake.closed:
            return "shutting down"
        try:
            await services.store.ping()
        except StoreUnavailable as error:
            log.warning("health.not_ready", cause=str(error))
            return "the store does not answer"
        return "" if worker is None or worker.alive else "the worker has stopped"

    info = PageInfo(
        settings.bot_name,
        services.agent.provider.model,
        demo=settings.chosen_model == "demo",
        language=settings.language,
        signs_out=bool(settings.console_token.get_secret_value()),
        most_file_bytes=MOST_UPLOAD,
    )
    guarded = [
        *page_routes(info, services.texts),
        *runtime.console.routes(),
        metrics_route(services.metrics, services.store),
        dead_letters_route(services.store.dead_letters.count, services.store.dead_letters.read),
        *runtime.conversations.services.features.routes,
    ]
    webhooks = [
        route
        for name, channel in runtime.channels.items()
        if name != "console"
        for route in channel.routes()
    ]
    guard = Middleware(
        Guard,
        signin=SignIn(
            settings.console_token, settings.secret_key, services.texts, settings.bot_name
        ),
        texts=services.texts,
        language=settings.language,
        # with webhooks a proxy stands in front, and every visitor may look local
        trusts_machine=not webhooks,
    )
    mcp = mcp_route(services.tools, settings, services.metrics, guard)
    files = runtime.files.route()
    routes = [
        *health_routes(ready, lambda: runtime.refusals.cause),
        *webhooks,
        mcp,
        files,
        Mount("/", routes=guarded, middleware=[guard]),
    ]
    return Starlette(routes=routes)


def check_limits(
    settings: Settings, features: Features, registry: Sequence[ChannelEntry] = CHANNELS
) -> None:
    """Check that a feature limits what strangers may use, if they can write.

    Raises:
        SettingsError: none does.
    """
    if features.limits is NO_LIMITS and (labels := open_to_everybody(settings, registry)):
        where = f"on {' and '.join(labels)} strangers may use as much as they like"
        fix = "add limits to bot/features/registry.py, or name here who may write"
        raise SettingsError("ALLOWED_USERS", f"{where}; {fix}")


async def check_format(store: Store, settings: Settings) -> None:
    """Check that the store is kept in the format of this version.

    Raises:
        SettingsError: it has another one, which this version cannot read.
    """
    if (found := await store.note_format()) == FORMAT:
        return
    other = f"holds data in format {found}, and this version uses format {FORMAT}"
    if settings.store_url:
        fix = "empty it with redis-cli FLUSHDB, or name another database"
        raise SettingsError("REDIS_URL", f"the store {other}; {fix}")
    fix = "delete it while no Kaiwa runs, or name another one"
    raise SettingsError("KAIWA_DATA_DIR", f"the folder {settings.kaiwa_data_dir} {other}; {fix}")


async def _wait_for(store: Store) -> None:
    """Wait for a store that is still starting, but only briefly: the address may be wrong."""
    for tries_left in reversed(range(START_TRIES)):
        try:
            await store.ping()
        except StoreUnavailable:
            if not tries_left:
                raise
            await asyncio.sleep(1)
        else:
            return
