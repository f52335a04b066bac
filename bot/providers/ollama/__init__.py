"""The entry of Ollama."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from bot.providers import Provider
from bot.providers.shared.entry import Options, ProviderEntry
from bot.settings import NO_SECRET
from bot.settings.types import Secret, check_api_url


def _host(value: str) -> str:
    """As in Ollama itself, scheme, host and port are each optional."""
    address = f"localhost{value}" if value.startswith(":") else value
    check_api_url(address if "://" in address else f"http://{address}")
    return value


class Config(BaseModel):
    """Address, key and window."""

    ollama_host: Annotated[str, AfterValidator(_host)] = "127.0.0.1:11434"
    ollama_api_key: Secret = NO_SECRET
    ollama_context_length: int = Field(0, ge=0)


def open_model(config: Config, model: str, options: Options) -> Provider:
    from bot.providers.ollama.client import Ollama

    key = config.ollama_api_key.get_secret_value()
    return Ollama(model, config.ollama_host, options, config.ollama_context_length, key)


ENTRY = ProviderEntry("ollama", Config, open_model)
