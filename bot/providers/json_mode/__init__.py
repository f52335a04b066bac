"""Tools for models without function calling, over any provider that writes JSON by a schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bot.providers import Provider
from bot.providers.shared.entry import ConfigT, Options, ProviderEntry

if TYPE_CHECKING:
    from bot.providers.json_mode.client import Writer


def entry_over(
    writer: ProviderEntry[ConfigT], open_writer: Callable[[ConfigT, str, Options], Writer]
) -> ProviderEntry[ConfigT]:
    """The entry of JSON mode over a writer, with the writer's variables and SDK."""

    def open_model(config: ConfigT, model: str, options: Options) -> Provider:
        from bot.providers.json_mode.client import JsonMode

        return JsonMode(open_writer(config, model, options))

    return ProviderEntry("json", writer.config, open_model, writer.needs, writer.sdk)
