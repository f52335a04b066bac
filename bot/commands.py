"""Commands in a conversation: messages whose whole text is ``/help``, ``reset``, 「忘れて」 and the
like."""

from __future__ import annotations

import re
import unicodedata

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
        self.names: list[str] = []
        self.kinds: dict[str, str] = {}
        self._commands: dict[str, str] = {}
        self._answers: dict[str, str] = {}
        self._numbered: dict[str, str] = {}
        self._paired: dict[str, str] = {}
        for row in texts.table("words", LANGUAGES[0]):
            kind, _, name = row.rpartition(".")
            words = dict.fromkeys(words_of(texts, f"words.{row}"), name)
            if kind:
                self.kinds[name] = kind
            if kind == ANSWERS:
                self._answers |= words
                continue
            self.names.append(name)
            self._commands |= words
            if kind == NUMBERED:
                self._numbered |= words
            elif kind == PAIRED:
                self._paired |= words
        self._languages: dict[str, str] = {}
        for language in LANGUAGES:
            for code, name in texts.table("languages", language).items():
                self._languages |= {code.casefold(): code, name.casefold(): code}

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


def words_of(texts: Texts, key: str) -> list[str]:
    """The words of a row of the catalogue, in every language."""
    rows = (texts.get(key, language) for language in LANGUAGES)
    return [word.strip().casefold() for row in rows for word in row.split(",")]


def bare(text: str) -> str:
    """The text as the catalogue writes words: Japanese keyboards also write wide letters and narrow
    kana."""
    folded = OTHER_WIDTH.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return " ".join(folded.split()).strip(TRAILING).casefold()
