"""The registry of providers: opens the model that ``provider:model`` names.

A new provider is a folder with an entry, and a line in ``PROVIDERS``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

from pydantic import BaseModel, SecretStr

from bot.errors import SettingsError
from bot.providers import Provider, anthropic, demo, gemini, json_mode, ollama, openai
from bot.providers.fallback import FallbackProvider
from bot.providers.shared.entry import Options, ProviderEntry
from bot.settings import Settings, config_beside
from bot.telemetry import Metrics

Registry = tuple[ProviderEntry[Any], ...]

PROVIDERS: Registry = (
    gemini.ENTRY,
    gemini.VERTEX_ENTRY,
    openai.ENTRY,
    json_mode.entry_over(openai.ENTRY, openai.open_model),
    anthropic.ENTRY,
    ollama.ENTRY,
    demo.ENTRY,
)


@asynccontextmanager
async def open_models(
    settings: Settings, metrics: Metrics, registry: Registry = PROVIDERS
) -> AsyncIterator[Provider]:
    """The chosen model with its retries and its fallbacks.

    Raises:
        SettingsError: a model has no provider, lacks a variable, or needs an SDK that is not
            installed.
    """
    models = [_open(settings, name, registry) for name in settings.models]
    async with aclosing(FallbackProvider(models, metrics)) as provider:
        yield provider


@asynccontextmanager
async def open_reviewers(
    settings: Settings, metrics: Metrics, registry: Registry = PROVIDERS
) -> AsyncIterator[dict[str, Provider]]:
    """The reviewers by their names, each with its retries, without fallbacks and without the
    vendor's own tools.

    Raises:
        SettingsError: as ``open_models``.
    """
    # What reviewers read may be poisoned.
    settings = settings.model_copy(update={"server_tools": ()})
    async with AsyncExitStack() as stack:
        opened: dict[str, Provider] = {}
        for name in dict.fromkeys(settings.reviewers):
            model = FallbackProvider([_open(settings, name, registry)], metrics)
            opened[name] = await stack.enter_async_context(aclosing(model))
        yield opened


@asynccontextmanager
async def open_model(
    settings: Settings, name: str, registry: Registry = PROVIDERS
) -> AsyncIterator[Provider]:
    """One of the configured models, without retries and fallbacks.

    Raises:
        SettingsError: as ``open_models``.
    """
    async with aclosing(_open(settings, name, registry)) as provider:
        yield provider


def check_models(settings: Settings, registry: Registry = PROVIDERS) -> None:
    """Check the variables of all providers, and that every configured model has a provider and the
    variables it needs; no SDK is imported.

    Raises:
        SettingsError: with the variable and the fix.
    """
    for entry in registry:
        _read(settings, entry)
    for name in settings.all_models:
        _config(settings, name, _entry(settings, name, registry))


def model_secrets(settings: Settings, registry: Registry = PROVIDERS) -> list[str]:
    """The secrets of all providers, which the log strikes out; raises like ``check_models``."""
    values = [value for entry in registry for _, value in _read(settings, entry)]
    return [value.get_secret_value() for value in values if isinstance(value, SecretStr)]


def _open(settings: Settings, name: str, registry: Registry) -> Provider:
    entry = _entry(settings, name, registry)
    config = _config(settings, name, entry)
    asker = settings.asker(name)
    try:
        limits = settings.max_output_tokens, settings.thinking_level
        options = Options(*limits, asker, server_tools=settings.server_tools)
        return entry.open(config, name.partition(":")[2], options)
    except ModuleNotFoundError as error:
        if not entry.sdk or error.name != entry.sdk:
            raise
        fix = (
            f"{name} needs a package that is not installed; run make models, or install "
            f"{error.name} beside Kaiwa"
        )
        raise SettingsError(asker, fix) from error


def _entry(settings: Settings, name: str, registry: Registry) -> ProviderEntry[Any]:
    entries = {entry.name: entry for entry in registry}
    if entry := entries.get(name.partition(":")[0]):
        return entry
    known = ", ".join(one for one in entries if one != "demo")
    fix = f"write demo or PROVIDER:MODEL, where PROVIDER is one of {known}"
    raise SettingsError(settings.asker(name), fix)


def _config(settings: Settings, name: str, entry: ProviderEntry[Any]) -> BaseModel:
    """The variables of an entry, with those that the model needs."""
    config = _read(settings, entry)
    given = [getattr(config, variable.lower()) for variable in entry.needs]
    if entry.needs and not any(map(_is_set, given)):
        also = ""
        if len(entry.needs) > 1:
            also = f", or {entry.needs[1]} for a server of your own"
        fix = f"{settings.asker(name)} asks for {name}; set this{also}, or name another model"
        raise SettingsError(entry.needs[0], fix)
    return config


def _read(settings: Settings, entry: ProviderEntry[Any]) -> BaseModel:
    config: BaseModel = config_beside(entry.config, settings)
    return config


def _is_set(value: object) -> bool:
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    return bool(value)
