"""What a person is shown of a call before they decide about it: all that will be used, and nothing that pretends."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

SHOWN = 2_000  # characters of the arguments; with the words around them they fit one message of every channel

NAME = re.compile(r"\w[\w.-]*")
WORD = re.compile(r"\w+")
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
SPACES = " \u3000"  # the ones people type
# Letters and marks that show nothing: fillers of Hangul, the empty Braille cell, joiners and variation selectors.
BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
ALIKE = ("GREEK ", "CYRILLIC ")  # alphabets with letters that look like Latin ones


def described(arguments: Mapping[str, Any]) -> str:
    """The arguments, one a line, as they will really be used.

    A text stands as it is only where that is plain; otherwise it stands in quotes, as JSON writes it, with escapes for
    line breaks, for what nobody sees, for what turns a text round, and for letters that pose as others.
    """
    return "\n".join(f"{_name(name)}: {_value(value)}" for name, value in arguments.items())


def plain(text: str) -> str:
    """A text with escapes in place of what cannot be seen or is not what it seems."""
    return WORD.sub(lambda word: _unmasked(word[0]), "".join(map(_seen, text)))


def fenced(text: str) -> str:
    """As a block of code, with a fence that the text cannot close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _name(name: str) -> str:
    return name if NAME.fullmatch(name) and plain(name) == name else _quoted(name)


def _value(value: object) -> str:
    is_plain = isinstance(value, str) and value and not value.startswith('"') and "\\" not in value
    if is_plain and value == str(value).strip() and plain(str(value)) == value:
        return str(value)
    return _quoted(value)


def _quoted(value: object) -> str:
    return plain(json.dumps(value, ensure_ascii=False))


def _seen(letter: str) -> str:
    is_hidden = unicodedata.category(letter) in HIDDEN and letter not in SPACES
    return _escaped(letter) if is_hidden or BLANK.match(letter) else letter


def _unmasked(word: str) -> str:
    """A word of Latin letters in which letters of another alphabet pose as Latin is shown with those escaped."""
    if word.isascii() or not any(map(_is_latin, word)):
        return word
    return "".join(_escaped(letter) if unicodedata.name(letter, "").startswith(ALIKE) else letter for letter in word)


def _is_latin(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("LATIN ")


def _escaped(letter: str) -> str:
    return json.dumps(letter).strip('"')
