"""Commands that somebody says in a conversation: whole messages such as ``/help``, ``reset`` or 「忘れて」."""

from __future__ import annotations

from bot.texts import LANGUAGES, Texts

COMMANDS = ("help", "reset", "forget")
TRAILING = " .!。！　"


class SpokenCommands:
    """Knows the words of every command in every language, from the catalogue's table ``words``."""

    def __init__(self, texts: Texts) -> None:
        self._commands = {
            word.strip().casefold(): command
            for language in LANGUAGES
            for command in COMMANDS
            for word in texts.get(f"words.{command}", language).split(",")
        }

    def read(self, text: str) -> str | None:
        """The command that a whole message is: ``help``, ``reset``, ``forget`` or None."""
        return self._commands.get(" ".join(text.split()).strip(TRAILING).casefold())
