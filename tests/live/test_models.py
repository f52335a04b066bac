"""Each provider that is configured: key and model, and one answer with a tool on offer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.errors import SettingsError
from bot.providers import Completed, Request, anthropic, gemini, openai
from bot.providers.registry import check_models, open_model
from bot.settings import Settings, config_beside
from tests.bot.providers.asking import user
from tests.llm.asking import WEATHER

MODELS = (
    "gemini:gemini-flash-latest",
    "vertex:gemini-flash-latest",
    "openai:gpt-5-mini",
    "anthropic:claude-haiku-4-5",
    "ollama:qwen3:4b",
)


@pytest.mark.parametrize("model", MODELS, ids=[model.partition(":")[0] for model in MODELS])
async def test_a_model_answers(
    config: Settings, require_reachable: Callable[[str], None], model: str
) -> None:
    """With a call of the tool, or in words; what it read is counted. MODEL and FALLBACK_MODELS
    choose other models."""
    provider_name = model.partition(":")[0]
    own = next((name for name in config.models if name.startswith(f"{provider_name}:")), "")
    chosen = config.model_copy(update={"model": own or model, "fallback_models": ()})
    if provider_name == "ollama" and not own:
        pytest.skip("neither MODEL nor FALLBACK_MODELS names a model of ollama")
    try:
        check_models(chosen)
    except SettingsError as error:
        pytest.skip(f"{error.variable} is not set")
    if url := _address(chosen, provider_name):
        require_reachable(url)
    async with open_model(chosen, chosen.chosen_model) as provider:
        assert await provider.check()
        asked = Request("You are brief.", [user("How is the weather in Kyoto?")], [WEATHER])
        events = [event async for event in provider.stream(asked)]
    last = events[-1]
    assert isinstance(last, Completed)
    response = last.response
    assert response.message.calls or response.message.text
    assert response.usage.input > 0


def _address(config: Settings, provider: str) -> str:
    """Where the provider is asked; empty where only its SDK knows."""
    addresses = {
        "gemini": config_beside(gemini.Config, config).google_gemini_base_url
        or "https://generativelanguage.googleapis.com",
        "openai": config_beside(openai.Config, config).openai_base_url or "https://api.openai.com",
        "anthropic": config_beside(anthropic.Config, config).anthropic_base_url
        or "https://api.anthropic.com",
    }
    return addresses.get(provider, "")
