"""Models by their names: ``provider:model`` becomes the provider that speaks to it, whose SDK is loaded only then."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from bot.errors import SettingsError
from bot.metrics import Metrics
from bot.providers import Provider
from bot.providers.demo import Demo
from bot.providers.options import Options
from bot.providers.retrying import FallbackProvider
from bot.settings import Settings
from bot.texts import load

if TYPE_CHECKING:
    from bot.providers.openai import OpenAI

SDKS = ("anthropic", "openai")  # optional; google-genai comes with Kaiwa


@asynccontextmanager
async def open_models(settings: Settings, metrics: Metrics) -> AsyncIterator[Provider]:
    """The chosen model with its retries and its fallbacks.

    Raises:
        SettingsError: the SDK of one of them is not installed.
    """
    provider = FallbackProvider([_built(settings, name) for name in settings.models], metrics)
    try:
        yield provider
    finally:
        await provider.aclose()


@asynccontextmanager
async def open_model(settings: Settings, name: str) -> AsyncIterator[Provider]:
    """One of the configured models, by itself.

    Raises:
        SettingsError: its SDK is not installed.
    """
    provider = _built(settings, name)
    try:
        yield provider
    finally:
        await provider.aclose()


def _built(settings: Settings, name: str) -> Provider:
    provider, _, model = name.partition(":")
    asker = settings.asker(name)
    try:
        return BUILDERS[provider](settings, model, asker)
    except ModuleNotFoundError as error:
        if error.name not in SDKS:
            raise
        fix = f"{name} needs a package that is not installed; run make models, or pip install {error.name}"
        raise SettingsError(asker, fix) from error


def _options(settings: Settings, asker: str) -> Options:
    return Options(settings.max_output_tokens, settings.thinking_level, asker)


def _demo(settings: Settings, _model: str, _asker: str) -> Provider:
    return Demo(load(), settings.language)


def _gemini(settings: Settings, model: str, asker: str) -> Provider:
    from bot.providers.gemini import Gemini

    return Gemini(
        settings.gemini_api_key.get_secret_value(),
        model,
        settings.google_gemini_base_url,
        _options(settings, asker),
    )


def _vertex(settings: Settings, model: str, asker: str) -> Provider:
    from bot.providers.gemini.vertex import Vertex

    return Vertex(
        settings.google_cloud_project,
        model,
        settings.google_cloud_location,
        settings.google_vertex_base_url,
        _options(settings, asker),
    )


def _openai(settings: Settings, model: str, asker: str) -> OpenAI:
    from bot.providers.openai import OpenAI

    return OpenAI(
        settings.openai_api_key.get_secret_value(),
        model,
        settings.openai_base_url,
        _options(settings, asker),
    )


def _json_mode(settings: Settings, model: str, asker: str) -> Provider:
    from bot.providers.json_mode import JsonMode

    return JsonMode(_openai(settings, model, asker))


def _anthropic(settings: Settings, model: str, asker: str) -> Provider:
    from bot.providers.anthropic import Anthropic

    return Anthropic(
        settings.anthropic_api_key.get_secret_value(),
        model,
        settings.anthropic_base_url,
        _options(settings, asker),
    )


def _ollama(settings: Settings, model: str, asker: str) -> Provider:
    from bot.providers.ollama import Ollama

    return Ollama(
        model,
        settings.ollama_host,
        _options(settings, asker),
        settings.ollama_context_length,
        settings.ollama_api_key.get_secret_value(),
    )


BUILDERS: dict[str, Callable[[Settings, str, str], Provider]] = {
    "anthropic": _anthropic,
    "demo": _demo,
    "gemini": _gemini,
    "json": _json_mode,
    "ollama": _ollama,
    "openai": _openai,
    "vertex": _vertex,
}
