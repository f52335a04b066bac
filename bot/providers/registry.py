"""The registry of providers: opens the model that ``provider:model`` names.

A new provider is a folder with an entry, and a line in ``PROVIDERS``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from pydantic import SecretStr

from bot.errors import SettingsError
from bot.providers import Provider, anthropic, demo, gemini, json_mode, ollama, openai
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
            names: an empty one is the chosen model's.
            asker: the variable that names them, where it is none of Kaiwa's own.

        Raises:
            SettingsError: a model has no provider, lacks a variable, or needs an SDK that is not
                installed.
        """
        names = tuple(dict.fromkeys(name or self._settings.chosen_model for name in names))
        if names not in self._found:
            # It loads aiohttp, which takes 0.2 s: commands that ask no model do not wait for it.
            from bot.providers.fallback import FallbackProvider  # noqa: PLC0415

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


class Reviewers(dict[str, Provider]):
    """Models by their names; one that is missing is opened."""

    def __init__(self, models: Models) -> None:
        super().__init__()
        self._models = models

    def __missing__(self, name: str) -> Provider:
        found = self[name] = self._models.find((name,), "PLACES")
        return found


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
    vendor's own tools; others are opened when they are asked for, as a place may name some.

    Raises:
        SettingsError: as ``Models``.
    """
    # What reviewers read may be poisoned.
    settings = settings.model_copy(update={"server_tools": ()})
    async with aclosing(Models(settings, metrics, registry)) as models:
        reviewers = Reviewers(models)
        for name in settings.reviewers:
            reviewers[name] = models.find((name,))
        yield reviewers


@asynccontextmanager
async def open_model(
    settings: Settings, name: str, registry: Registry = PROVIDERS, asker: str = ""
) -> AsyncIterator[Provider]:
    """One of the configured models, without retries and fallbacks.

    Args:
        asker: see ``Models.find``.

    Raises:
        SettingsError: as ``open_models``.
    """
    async with aclosing(_open(settings, name, registry, asker)) as provider:
        yield provider


def check_models(settings: Settings, registry: Registry = PROVIDERS) -> None:
    """Check the variables of all providers, and that every configured model has a provider and the
    variables it needs; no SDK is imported.

    Raises:
        SettingsError: with the variable and the fix.
    """
    for entry in registry:
        config_beside(entry.config, settings)
    for name in settings.all_models:
        _entry(settings, name, registry, settings.asker(name))


def model_secrets(settings: Settings, registry: Registry = PROVIDERS) -> list[str]:
    """The secrets of all providers, which the log strikes out; raises like ``check_models``."""
    configs = [config_beside(entry.config, settings) for entry in registry]
    values = [value for config in configs for _, value in config]
    return [value.get_secret_value() for value in values if isinstance(value, SecretStr)]


def _open(settings: Settings, name: str, registry: Registry, asker: str = "") -> Provider:
    asker = asker or settings.asker(name)
    entry, config = _entry(settings, name, registry, asker)
    options = Options(
        settings.max_output_tokens, settings.thinking_level, asker, settings.server_tools
    )
    try:
        return entry.open(config, name.partition(":")[2], options)
    except ModuleNotFoundError as error:
        if not entry.sdk or error.name != entry.sdk:
            raise
        fix = (
            f"{name} needs a package that is not installed; run make models, or install "
            f"{error.name} beside Kaiwa"
        )
        raise SettingsError(asker, fix) from error


def _entry(
    settings: Settings, name: str, registry: Registry, asker: str
) -> tuple[ProviderEntry[Any], Any]:
    """A model's entry, and its variables with those that the model needs."""
    entries = {entry.name: entry for entry in registry}
    entry = entries.get(name.partition(":")[0])
    if entry is None:
        known = ", ".join(one for one in entries if one != "demo")
        fix = f"write demo or PROVIDER:MODEL, where PROVIDER is one of {known}"
        raise SettingsError(asker, fix)
    config = config_beside(entry.config, settings)
    # An empty secret is false too.
    if entry.needs and not any(getattr(config, one.lower()) for one in entry.needs):
        also = f", or {entry.needs[1]} for a server of your own" if entry.needs[1:] else ""
        fix = f"{asker} asks for {name}; set this{also}, or name another model"
        raise SettingsError(entry.needs[0], fix)
    return entry, config
