"""Commands in a conversation: messages whose whole text is ``/help``, ``reset``, 「忘れて」 and the
like."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from bot.texts import LANGUAGES, Texts

ANSWERS = ("approve", "reject", "polite")  # rows of the table ``words`` that are no commands
# What stands before the name of a command, as in ``stops.stop``:
NUMBERED = "numbered"  # its words are followed by a number
CANCELS = "cancels"  # messages before it are left out
FORGETS = "forgets"  # so is all that its author has planned, and the turn leaves no history
STOPS = "stops"  # it ends the turn under way; messages before it get no answer
INTERPRET = "interpret"  # the command whose words are followed by two languages
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
        rows = [row for row in texts.table("words", LANGUAGES[0]) if row not in ANSWERS]
        self.names = [_name(row) for row in rows]
        self.kinds = {_name(row): row.partition(".")[0] for row in rows if "." in row}
        self._commands = _words(texts, rows)
        self._decisions = {
            word: name == "approve" for word, name in _words(texts, ("approve", "reject")).items()
        }
        self._numbered = {
            word: name for word, name in self._commands.items() if self.kinds.get(name) == NUMBERED
        }
        self._polite = frozenset(_words(texts, ("polite",)))
        names = [
            pair for language in LANGUAGES for pair in texts.table("languages", language).items()
        ]
        self._languages = {word.casefold(): code for code, name in names for word in (code, name)}

    def read(self, text: str) -> str | None:
        """The command that a message is; None if it is no command."""
        bare = _bare(text)
        words, _, number = bare.rpartition(" ")
        numbered = self._numbered.get(words) if number.isdecimal() else None
        return self._commands.get(bare) or numbered or self._with_languages(bare)

    def languages(self, text: str) -> tuple[str, str] | None:
        """The codes of the two languages that stand after a command's word; None unless there are
        exactly two."""
        names = filter(None, BETWEEN.split(_bare(text).partition(" ")[2]))
        codes = [self._languages.get(name) for name in names]
        match codes:
            case [str(one), str(other)] if one != other:
                return one, other
        return None

    def _with_languages(self, bare: str) -> str | None:
        """The command that is followed by two languages; behind a slash by anything."""
        word, _, rest = bare.partition(" ")
        is_meant = (
            rest
            and self._commands.get(word) == INTERPRET
            and (word[0] == "/" or self.languages(bare))
        )
        return INTERPRET if is_meant else None

    def decision(self, text: str) -> bool | None:
        """True for a yes, False for a no; None if the message is neither."""
        return self._decisions.get(_bare(text))

    def is_polite(self, text: str) -> bool:
        """Whether a message is only politeness such as "please": part of a request, or a yes."""
        return _bare(text) in self._polite


def number_in(text: str) -> int:
    """The number at the end of a command; 0 without one."""
    number = _bare(text).rpartition(" ")[2][-DIGITS:]
    return int(number) if number.isdecimal() else 0


def _name(row: str) -> str:
    return row.rpartition(".")[2]


def _words(texts: Texts, rows: Sequence[str]) -> dict[str, str]:
    """Command names by their words in every language."""
    return {
        word.strip().casefold(): _name(row)
        for language in LANGUAGES
        for row in rows
        for word in texts.get(f"words.{row}", language).split(",")
    }


def _bare(text: str) -> str:
    """The text as the catalogue writes words: Japanese keyboards also write wide letters and narrow
    kana."""
    folded = OTHER_WIDTH.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    return " ".join(folded.split()).strip(TRAILING).casefold()
