"""The entry of Anthropic."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from bot.providers import Provider
from bot.providers.shared.entry import Options, ProviderEntry
from bot.settings import NO_SECRET
from bot.settings.types import ApiURL, Secret


class Config(BaseModel):
    anthropic_api_key: Secret = NO_SECRET
    anthropic_base_url: ApiURL | Literal[""] = ""


def open_model(config: Config, model: str, options: Options) -> Provider:
    from bot.providers.anthropic.client import Anthropic

    return Anthropic(
        config.anthropic_api_key.get_secret_value(), model, config.anthropic_base_url, options
    )


ENTRY = ProviderEntry(
    "anthropic", Config, open_model, needs=("ANTHROPIC_API_KEY",), sdk="anthropic"
)
