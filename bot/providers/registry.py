"""The registry of providers: opens the model that ``provider:model`` names.

A new provider is a folder with an entry, and a line in ``PROVIDERS``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
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
    json_mode.entry_over(openai.ENTRY),
    anthropic.ENTRY,
    ollama.ENTRY,
    demo.ENTRY,
)


class Models:
    """Opens models by their names, each once."""

    def __init__(
        self, settings: Settings, metrics: Metrics, registry: Registry = PROVIDERS
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        self._registry = registry
        self._opened: dict[str, Provider] = {}
        self._found: dict[tuple[str, ...], Provider] = {}

    def find(self, names: tuple[str, ...], asker: str = "") -> Provider:
        """A model with its retries, and with its fallbacks, which are named after it.

        Args:
            asker: the variable that names them, where it is none of Kaiwa's own.

        Raises:
            SettingsError: a model has no provider, lacks a variable, or needs an SDK that is not
                installed.
        """
        if names not in self._found:
            for name in names:
                if name not in self._opened:
                    self._opened[name] = _open(self._settings, name, self._registry, asker)
            models = [self._opened[name] for name in names]
            self._found[names] = FallbackProvider(models, self._metrics)
        return self._found[names]

    async def aclose(self) -> None:
        """Close the connections of all."""
        for provider in self._opened.values():
            await provider.aclose()


@asynccontextmanager
async def open_models(
    settings: Settings, metrics: Metrics, registry: Registry = PROVIDERS
) -> AsyncIterator[Provider]:
    """The chosen model with its retries and its fallbacks; raises as ``Models``."""
    async with aclosing(Models(settings, metrics, registry)) as models:
        yield models.find(settings.models)


@asynccontextmanager
async def open_reviewers(
    settings: Settings, metrics: Metrics, registry: Registry = PROVIDERS
) -> AsyncIterator[dict[str, Provider]]:
    """The reviewers by their names, each with its retries, without fallbacks and without the
    vendor's own tools.

    Raises:
        SettingsError: as ``Models``.
    """
    # What reviewers read may be poisoned.
    settings = settings.model_copy(update={"server_tools": ()})
    async with aclosing(Models(settings, metrics, registry)) as models:
        yield {name: models.find((name,)) for name in settings.reviewers}


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
        asker = settings.asker(name)
        _config(settings, name, _entry(name, registry, asker), asker)


def model_secrets(settings: Settings, registry: Registry = PROVIDERS) -> list[str]:
    """The secrets of all providers, which the log strikes out; raises like ``check_models``."""
    values = [value for entry in registry for _, value in _read(settings, entry)]
    return [value.get_secret_value() for value in values if isinstance(value, SecretStr)]


def _open(settings: Settings, name: str, registry: Registry, asker: str = "") -> Provider:
    asker = asker or settings.asker(name)
    entry = _entry(name, registry, asker)
    config = _config(settings, name, entry, asker)
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


def _entry(name: str, registry: Registry, asker: str) -> ProviderEntry[Any]:
    entries = {entry.name: entry for entry in registry}
    if entry := entries.get(name.partition(":")[0]):
        return entry
    known = ", ".join(one for one in entries if one != "demo")
    fix = f"write demo or PROVIDER:MODEL, where PROVIDER is one of {known}"
    raise SettingsError(asker, fix)


def _config(settings: Settings, name: str, entry: ProviderEntry[Any], asker: str) -> BaseModel:
    """The variables of an entry, with those that the model needs."""
    config = _read(settings, entry)
    given = [getattr(config, variable.lower()) for variable in entry.needs]
    if entry.needs and not any(map(_is_set, given)):
        also = ""
        if len(entry.needs) > 1:
            also = f", or {entry.needs[1]} for a server of your own"
        fix = f"{asker} asks for {name}; set this{also}, or name another model"
        raise SettingsError(entry.needs[0], fix)
    return config


def _read(settings: Settings, entry: ProviderEntry[Any]) -> BaseModel:
    config: BaseModel = config_beside(entry.config, settings)
    return config


def _is_set(value: object) -> bool:
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    return bool(value)
