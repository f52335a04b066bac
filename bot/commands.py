"""Commands in a conversation: messages whose whole text is ``/help``, ``reset``, 「忘れて」 and the
like."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from bot.texts import LANGUAGES, Texts

# What stands before the name of a command, as in ``stops.stop``:
ANSWERS = "answers"  # it is no command: a turn may wait for it
NUMBERED = "numbered"  # its words are followed by a number
CANCELS = "cancels"  # messages before it are left out
FORGETS = "forgets"  # so is all that its author has planned, and the turn leaves no history
STOPS = "stops"  # it ends the turn under way; messages before it get no answer
PAIRED = "languages"  # its words are followed by two languages, or behind a slash by anything
OVERHEARD = "overheard"  # it needs no slash where people write to each other
DIGITS = 9  # of such a number
TRAILING = " .!。！　"
OTHER_WIDTH = re.compile(r"[\uff01-\uffee]+")
BETWEEN = re.compile(r"[\s,、・／/↔⇔と]+|\band\b")  # two languages


class SpokenCommands:
    """The words of every command in every language, from the catalogue's table ``words``.

    Attributes:
        names: of the commands.
        kinds: by their names, ``NUMBERED`` and others; most have none.
    """

    def __init__(self, texts: Texts) -> None:
        rows = list(texts.table("words", LANGUAGES[0]))
        kinds = {_name(row): row.partition(".")[0] for row in rows if "." in row}
        self.kinds = kinds
        words = _words(texts, rows)
        self.names = [name for name in map(_name, rows) if kinds.get(name) != ANSWERS]
        self._commands = {word: name for word, name in words.items() if name in self.names}
        self._answers = {word: name for word, name in words.items() if name not in self.names}
        self._numbered = {word: name for word, name in words.items() if kinds.get(name) == NUMBERED}
        self._paired = {word: name for word, name in words.items() if kinds.get(name) == PAIRED}
        names = [
            pair for language in LANGUAGES for pair in texts.table("languages", language).items()
        ]
        self._languages = {word.casefold(): code for code, name in names for word in (code, name)}

    def read(self, text: str) -> str | None:
        """The command that a message is; None if it is no command."""
        spoken = bare(text)
        if command := self._commands.get(spoken):
            return command
        words, _, number = spoken.rpartition(" ")
        if number.isdecimal() and (numbered := self._numbered.get(words)):
            return numbered
        word, _, rest = spoken.partition(" ")
        paired = self._paired.get(word) if rest else None
        return paired if paired and (word[0] == "/" or self.languages(spoken)) else None

    def languages(self, text: str) -> tuple[str, str] | None:
        """The codes of the two languages that stand after a command's word; None unless there are
        exactly two."""
        names = filter(None, BETWEEN.split(bare(text).partition(" ")[2]))
        codes = [self._languages.get(name) for name in names]
        match codes:
            case [str(one), str(other)] if one != other:
                return one, other
        return None

    def answer(self, text: str) -> str | None:
        """The name of the answer that a message is, for a turn that waits for one; None if it is
        none."""
        return self._answers.get(bare(text))


def number_in(text: str) -> int:
    """The number at the end of a command; 0 without one."""
    number = bare(text).rpartition(" ")[2][-DIGITS:]
    return int(number) if number.isdecimal() else 0


def _name(row: str) -> str:
    return row.rpartition(".")[2]


def _words(texts: Texts, rows: Sequence[str]) -> dict[str, str]:
    """Names by their words in every language."""
    return {word: _name(row) for row in rows for word in words_of(texts, f"words.{row}")}


def words_of(texts: Texts, key: str) -> list[str]:
    """The words of a row of the catalogue, in every language."""
    rows = (texts.get(key, language) for language in LANGUAGES)
    return [word.strip().casefold() for row in rows for word in row.split(",")]


def bare(text: str) -> str:
    """The text as the catalogue writes words: Japanese keyboards also write wide letters and narrow
    kana."""
    folded = OTHER_WIDTH.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return " ".join(folded.split()).strip(TRAILING).casefold()
