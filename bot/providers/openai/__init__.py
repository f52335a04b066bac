"""The entry of OpenAI and of compatible servers."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from bot.providers import Provider
from bot.providers.shared.entry import Options, ProviderEntry
from bot.settings import NO_SECRET
from bot.settings.types import ApiURL, Secret


class Config(BaseModel):
    """Key and address; one's own server may need no key."""

    openai_api_key: Secret = NO_SECRET
    openai_base_url: ApiURL | Literal[""] = ""


def open_model(config: Config, model: str, options: Options) -> Provider:
    from bot.providers.openai.client import OpenAI

    return OpenAI(config.openai_api_key.get_secret_value(), model, config.openai_base_url, options)


ENTRY = ProviderEntry(
    "openai", Config, open_model, needs=("OPENAI_API_KEY", "OPENAI_BASE_URL"), sdk="openai"
)
