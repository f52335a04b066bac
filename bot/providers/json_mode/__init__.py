"""Tools for models without function calling, over any provider that writes JSON by a schema."""

from __future__ import annotations

from bot.providers import Provider
from bot.providers.shared.entry import ConfigT, Options, ProviderEntry


def entry_over(writer: ProviderEntry[ConfigT]) -> ProviderEntry[ConfigT]:
    """The entry of JSON mode over a provider, with that one's variables and SDK."""

    def open_model(config: ConfigT, model: str, options: Options) -> Provider:
        from bot.providers.json_mode.client import JsonMode

        return JsonMode(writer.open(config, model, options))

    return ProviderEntry("json", writer.config, open_model, writer.needs, writer.sdk)
