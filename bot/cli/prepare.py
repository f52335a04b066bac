"""What commands begin and end with: the settings, the log, the store, a report."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import TypeVar

import uvloop

from bot import log, settings
from bot.app.storage import open_store_of
from bot.channels.registry import channel_secrets, check_channels, ways_in
from bot.checks import CheckResult, Examined
from bot.cli.as_typed import as_typed
from bot.features.registry import check_features, load_configs
from bot.ops.mcp_servers import mcp_servers
from bot.providers import Provider
from bot.providers.registry import check_models, model_secrets
from bot.reports import print_checks
from bot.settings import FeatureConfig, Settings, config_beside, secrets_in
from bot.store import Store
from toolset.mcp.catalog import tool_name
from toolset.tool_map import ToolMap

T = TypeVar("T")


def load_settings(processes: int | None = None) -> Settings:
    """The settings; what every model and every channel needs is set."""
    config = settings.load(processes)
    check_models(config)
    check_channels(config)
    check_features(config, ways_in(config))
    return config


def all_secrets(config: Settings) -> list[str]:
    """What the log must not contain."""
    secrets = [*config.secrets, *model_secrets(config), *channel_secrets(config)]
    for feature in load_configs().values():
        secrets += secrets_in(config_beside(feature, config))
    for server in mcp_servers(config):
        secrets += server.secrets
    return secrets


def prepare(
    log_level: str = "", processes: int | None = None, *, messages: bool = False
) -> Settings:
    """The settings, after configuring the log."""
    config = load_settings(processes)
    log.configure(log_level or config.log_level, all_secrets(config), messages=messages)
    return config


def use_store(use: Callable[[Settings, Store], Awaitable[T]]) -> T:
    """What a command reads or changes in the store."""
    config = prepare("ERROR")

    async def opened() -> T:
        async with open_store_of(config) as store:
            return await use(config, store)

    return uvloop.run(opened())


def print_report(results: Iterable[CheckResult]) -> int:
    """Print the results; exit code 1 if one is a failure."""
    shown = list(results)
    print_checks(
        replace(result, detail=as_typed(result.detail), fix=as_typed(result.fix))
        for result in shown
    )
    return 1 if any(result.result == "failure" for result in shown) else 0


def checks_of_features(
    settings: Settings,
    open_tools: Callable[[Settings], AbstractAsyncContextManager[ToolMap]],
    open_model: Callable[[Settings, str], AbstractAsyncContextManager[Provider]],
) -> dict[str, Callable[[], Awaitable[list[CheckResult]]]]:
    """The checks of ``kaiwa doctor`` for features that have some, by the feature's name."""

    async def check(config: type[FeatureConfig]) -> list[CheckResult]:
        async with open_store_of(settings) as store, open_tools(settings) as tools:
            servers = tuple(tool_name(server.name, "") for server in mcp_servers(settings))
            examined = Examined(store, tools, partial(open_model, settings), servers)
            return await config_beside(config, settings).examine(settings, examined)

    checks: dict[str, Callable[[], Awaitable[list[CheckResult]]]] = {}
    for name, config in load_configs().items():
        if config_beside(config, settings).has_checks:
            checks[name] = partial(check, config)
    return checks
