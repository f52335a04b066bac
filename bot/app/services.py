"""What every process needs, opened from the settings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.agent.loop import Agent
from bot.app.storage import check_format, connect, wait_for
from bot.ops.mcp_servers import open_mcp
from bot.pipeline.services import FindModel
from bot.plugins import load_hooks, open_tools
from bot.prompts import persona, read_prompt
from bot.providers import Provider
from bot.providers.registry import Models, open_reviewers
from bot.settings import Settings
from bot.store import Store
from bot.tasks import run_beside
from bot.telemetry import Metrics
from bot.texts import Texts, load
from toolset.tool_map import ToolMap


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
        store = await stack.enter_async_context(connect(url, settings))
        await wait_for(store)
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
            rules=read_prompt("data"),
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
