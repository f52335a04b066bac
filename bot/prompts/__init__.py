"""The system prompts of the bot, and the rules of other models: the files beside this one."""

from __future__ import annotations

from importlib.resources import files

from bot.settings import Settings


def persona(settings: Settings) -> str:
    """The system prompt without a channel's style: the operator's file or ``system.md``, then
    ``data.md``."""
    own = settings.persona_file
    first = own.read_text("utf-8").strip() if own else read_prompt("system")
    return f"{first}\n\n{read_prompt('data')}".replace("{bot_name}", settings.bot_name)


def read_prompt(name: str) -> str:
    """A file beside this one."""
    return files("bot.prompts").joinpath(f"{name}.md").read_text("utf-8").strip()
