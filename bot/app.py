"""The composition root: settings → parts → ASGI app and worker. The only module that knows every other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files

import httpx
import structlog
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount

import toolset
from bot.agent import Agent, system_prompt
from bot.channels import Channel
from bot.channels.console import Console
from bot.conversation import Conversations, Defaults
from bot.errors import SettingsError, StoreUnavailable
from bot.intake import Intake, Jobs
from bot.metrics import Metrics
from bot.providers import Provider
from bot.providers.demo import Demo
from bot.providers.retrying import Retrying
from bot.settings import Settings, tool_config
from bot.store import Store, open_store
from bot.store.embedded import embedded
from bot.texts import Texts, load
from bot.web.guard import Guard
from bot.web.health import health_routes, metrics_route
from bot.web.page import PageInfo, page_routes
from bot.web.server import listen, serving, stop_signals
from bot.worker import DocketJobs, OwnJobs, Worker, open_docket
from toolset.tool import ToolMap, ToolSetupError

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


async def serve(settings: Settings, *, worker: bool, announce: Callable[[int], None]) -> None:
    """``kaiwa run``: web and, unless it runs apart, the worker, until SIGTERM.

    Args:
        announce: is told the port once requests are answered.
    """
    with listen(settings.host, settings.port) as sock, stop_signals() as stop:
        async with AsyncExitStack() as stack:
            house = await stack.enter_async_context(open_house(settings))
            docket = await stack.enter_async_context(open_docket(house.url))
            wired = _wire(house, DocketJobs(docket))
            at_work = Worker(docket, house.store, wired.conversations.attend) if worker else None
            server = await stack.enter_async_context(serving(_asgi(house, wired, at_work), sock))
            stack.callback(wired.console.close)
            if at_work:
                await stack.enter_async_context(at_work.running())
            announce(sock.getsockname()[1])
            await _until(stop, server.ended, *([at_work.ended] if at_work else []))
            wired.intake.closed = wired.conversations.closing = True


async def work(settings: Settings, *, announce: Callable[[], None]) -> None:
    """``kaiwa worker``: turns only, until SIGTERM."""
    with stop_signals() as stop:
        async with open_house(settings) as house, open_docket(house.url) as docket:
            wired = _wire(house, DocketJobs(docket))
            worker = Worker(docket, house.store, wired.conversations.attend)
            async with worker.running():
                announce()
                await _until(stop, worker.ended)
                wired.conversations.closing = True


@asynccontextmanager
async def open_chat(settings: Settings, conversation: str) -> AsyncIterator[Wired]:
    """``kaiwa chat``: everything at work, with a worker for this conversation alone."""
    jobs = OwnJobs(conversation)
    async with open_house(settings) as house:
        wired = _wire(house, jobs)
        async with jobs.running(wired.conversations.attend):
            yield wired


def persona(settings: Settings) -> str:
    """The system prompt, before a channel's style: the operator's file or our own."""
    path = settings.persona_file or files("bot.prompts") / "system.md"
    return path.read_text("utf-8").strip().replace("{bot_name}", settings.bot_name)


def console_prompt(settings: Settings) -> str:
    """The whole system prompt of page and terminal, as the model gets it."""
    return system_prompt(persona(settings), Console.style)


def _wire(house: House, jobs: Jobs) -> Wired:
    """Ways in, channels and turns, joined to one another."""
    settings = house.settings
    intake = Intake(house.store, jobs, house.metrics)
    channels: dict[str, Channel] = {}
    defaults = Defaults(settings.language, settings.timezone)
    conversations = Conversations(house.store, house.agent, channels, house.texts, house.metrics, defaults)
    console = Console(intake, house.store.live, conversations.past, house.texts, settings.language)
    channels[console.name] = console
    return Wired(intake, console, channels, conversations)


def _asgi(house: House, wired: Wired, worker: Worker | None) -> Starlette:
    settings = house.settings

    async def ready() -> str:
        try:
            await house.store.ping()
        except StoreUnavailable as error:
            log.warning("not ready", store=str(error))
            return "the store does not answer"
        return "" if worker is None or worker.alive else "the worker has stopped"

    async def depths() -> None:
        depth = await house.store.depths()
        house.metrics.queue_depth.set(depth.due)
        house.metrics.dead_letters.set(depth.dead_letters)

    info = PageInfo(settings.bot_name, house.agent.provider.model, settings.chosen_model == "demo", settings.language)
    guarded = [
        *page_routes(info, house.texts),
        *wired.console.routes(),
        metrics_route(house.metrics, depths),
    ]
    guard = Middleware(
        Guard,
        token=settings.console_token,
        secret=settings.secret_key,
        texts=house.texts,
        language=settings.language,
        bot_name=settings.bot_name,
    )
    routes = [*health_routes(ready), Mount("/", routes=guarded, middleware=[guard])]
    return Starlette(routes=routes)


async def _until(stop: asyncio.Event, *ended: Callable[[], Awaitable[None]]) -> None:
    """Wait for the order to stop.

    Raises:
        Exception: a part has ended by itself; the process should end too, and be started anew.
    """
    waits = [asyncio.ensure_future(wait()) for wait in (stop.wait, *ended)]
    try:
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in done:
            wait.result()
    finally:
        for wait in waits:
            wait.cancel()


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
