"""Loads tools and hooks, the operator's own too; one that cannot be loaded prevents the start."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from inspect import isclass
from pathlib import Path
from types import ModuleType

import httpx
from pydantic import BaseModel, SecretStr

import toolset
from bot.agent.hooks import Hook
from bot.errors import SettingsError
from bot.http import tls_context
from bot.log import hide
from bot.settings import Settings, tool_config
from toolset.offer.rules import read_rules
from toolset.openapi.api_file import read_api_files
from toolset.openapi.tool import load_api_tools
from toolset.sources import call_guarded, find_tools, import_file
from toolset.tool import ToolSetupError
from toolset.tool_map import ToolMap


@asynccontextmanager
async def open_tools(settings: Settings) -> AsyncIterator[ToolMap]:
    """All tools, with the HTTP client they share.

    Raises:
        SettingsError: a tool's variable is wrong, or a tool cannot be offered.
    """
    async with httpx.AsyncClient(verify=tls_context()) as http:
        try:
            rules = read_rules(settings.tools_allow) if settings.tools_allow else ()
        except ToolSetupError as error:
            raise SettingsError("TOOLS_ALLOW", str(error)) from error
        try:
            added = load_api_tools(settings.tools_dir, http, _tool_config)
            tools = toolset.build(find_tools(settings.tools_dir), http, _tool_config, rules, added)
        except ToolSetupError as error:
            raise SettingsError("tools", str(error)) from error
        yield tools.low_risk() if settings.read_only else tools


def _tool_config(config: type[BaseModel]) -> BaseModel:
    """Fill a tool's ``Config``, and keep its secrets out of the log."""
    filled = tool_config(config)
    hide(
        value.get_secret_value() for value in dict(filled).values() if isinstance(value, SecretStr)
    )
    return filled


def tool_variables(folder: Path | None) -> set[str]:
    """The variables of all tools, those that are off too.

    Args:
        folder: the operator's.

    Raises:
        ToolSetupError: a tool cannot be loaded.
    """
    variables = set[str]()
    for found in find_tools(folder):
        variables.update(field.upper() for field in found.tool.Config.model_fields)
    for _, api in read_api_files(folder):
        variables.update(api.variables)
    return variables


def load_hooks(settings: Settings) -> list[Hook]:
    """The hooks that HOOKS names, in its order.

    Raises:
        SettingsError: one of them cannot be loaded.
    """
    return [_hook(name, settings.tools_dir) for name in settings.hooks]


def _hook(name: str, folder: Path | None) -> Hook:
    """``module:Class``; the module is a file of TOOLS_DIR, or can be imported."""
    module_name, _, class_name = name.partition(":")
    file = folder / f"{module_name}.py" if folder else None

    def module() -> ModuleType:
        return import_file(file) if file and file.is_file() else import_module(module_name)

    try:
        kind = getattr(call_guarded(module, name), class_name, None)
        if not (isclass(kind) and issubclass(kind, Hook)):
            raise SettingsError(
                "HOOKS", f"{name} must be module:Class, and the class a bot.hooks.Hook"
            )
        hook: Hook = call_guarded(kind, name)
    except ToolSetupError as error:
        raise SettingsError("HOOKS", str(error)) from error
    return hook
