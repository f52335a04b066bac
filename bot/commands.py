"""Commands that somebody says in a conversation: whole messages such as ``/help``, ``reset`` or 「忘れて」."""

from __future__ import annotations

from collections.abc import Sequence

from bot.texts import LANGUAGES, Texts

ANSWERS = ("approve", "reject", "polite")  # what the table ``words`` has beside commands
TRAILING = " .!。！　"


class SpokenCommands:
    """Knows the words of every command in every language, from the catalogue's table ``words``.

    Attributes:
        names: of the commands.
    """

    def __init__(self, texts: Texts) -> None:
        self.names = [name for name in texts.table("words", LANGUAGES[0]) if name not in ANSWERS]
        self._commands = _words(texts, self.names)
        self._decisions = {word: said == "approve" for word, said in _words(texts, ("approve", "reject")).items()}
        self._polite = frozenset(_words(texts, ("polite",)))

    def read(self, text: str) -> str | None:
        """The name of the command that a whole message is, or None."""
        return self._commands.get(_bare(text))

    def decision(self, text: str) -> bool | None:
        """Yes or no, where a whole message is nothing else."""
        return self._decisions.get(_bare(text))

    def is_polite(self, text: str) -> bool:
        """Whether a whole message is a word of politeness: people add it to a request, or mean yes by it."""
        return _bare(text) in self._polite


def _words(texts: Texts, names: Sequence[str]) -> dict[str, str]:
    """What each word of the catalogue means, in every language."""
    return {
        word.strip().casefold(): name
        for language in LANGUAGES
        for name in names
        for word in texts.get(f"words.{name}", language).split(",")
    }


def _bare(text: str) -> str:
    return " ".join(text.split()).strip(TRAILING).casefold()
