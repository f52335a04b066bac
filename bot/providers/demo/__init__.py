"""The entry of the demo model: rules in place of a model."""

from __future__ import annotations

from pydantic import BaseModel

from bot.providers import Provider
from bot.providers.shared.entry import Options, ProviderEntry
from bot.settings.types import Language
from bot.texts import load


class Config(BaseModel):
    """The language of answers to a text of no language."""

    language: Language = "en"


def open_model(config: Config, _model: str, _options: Options) -> Provider:
    from bot.providers.demo.client import Demo

    return Demo(load(), config.language)


ENTRY = ProviderEntry("demo", Config, open_model)
