"""What a person is shown of a call before they decide about it: all that will be used, and nothing that pretends."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from bot.safe_text.glyphs import in_order, posing, unseen

SHOWN = 2_000  # characters of the arguments; with the words around them they fit one message of every channel
BULLET = "▸"  # begins an argument, and a line of no value, however long values are wrapped
SPACE = "␣"  # stands for a space that could be overlooked, or be taken for the end of a line

NAME = re.compile(r"\w[\w.-]*")
WORD = re.compile(r"(?:[^\W\d_]|[/~.])[^\s\"\\]*")  # begins like no number
CONSTANT = re.compile("true|false|null|nan|[+-]?infinity", re.IGNORECASE)
PART = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|NaN|-?Infinity')
BLANKS = re.compile(r"\A[ \u3000]+|[ \u3000]{2,}|[ \u3000]+\Z")
OURS = frozenset(f"{SPACE}⎵⌴{BULLET}▹►▻▶▷‣⏵➤➢➣❯⯈\U0001f782")  # with what looks like them
QUOTES = frozenset("“”„‟″＂ʺ〝〞〟״")


def described(arguments: Mapping[str, Any]) -> str:
    """The arguments, one a line, as they will really be used.

    A text that is one plain word stands as it is; every other stands in quotes, as JSON writes it, with escapes for
    line breaks, for what nobody sees, for what covers other letters, and for letters that pose as others. Each of
    several spaces is visible. Words that are read from right to left keep their place.
    """
    return "\n".join(in_order(f"{BULLET} {_name(name)}: {_value(value)}") for name, value in arguments.items())


def described_whole(arguments: Mapping[str, Any]) -> str | None:
    """The arguments as they are described; None where that takes more than is shown."""
    # Nothing is shown by fewer characters than it has, and JSON takes less than twice as many for what stands between.
    if len(json.dumps(arguments, ensure_ascii=False)) > 2 * SHOWN:
        return None
    shown = described(arguments)
    return shown if len(shown) <= SHOWN else None


def fenced(text: str) -> str:
    """As a block of code, with a fence that the text cannot close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _name(name: str) -> str:
    return name if NAME.fullmatch(name) and _written(name) == name else f'"{_written(name)}"'


def _value(value: object) -> str:
    if not isinstance(value, str):
        return PART.sub(_part, json.dumps(value, ensure_ascii=False))
    written = _written(value)
    is_word = written == value and WORD.fullmatch(value) and not CONSTANT.fullmatch(value)
    return value if is_word else f'"{written}"'


def _part(part: re.Match[str]) -> str:
    """A text in a list or an object: what looks like a quotation mark could seem to part it."""
    if not part[0].startswith('"'):
        return "null"  # what a number too large for JSON is on record, and so what a tool is given
    return f'"{_written(json.loads(part[0]), QUOTES)}"'


def _written(text: str, also: frozenset[str] = frozenset()) -> str:
    """The text as it stands between quotation marks."""
    hidden = unseen(text)
    escaped = hidden | posing(text) | {place for place, letter in enumerate(text) if letter in OURS or letter in also}
    blanks = {place for match in BLANKS.finditer(text) for place in range(*match.span())}
    pieces: list[str] = []
    is_bare = False  # the letter before is an escape, which carries no mark
    for place, letter in enumerate(text):
        is_bare = place in escaped or (is_bare and unicodedata.category(letter)[0] == "M")
        if place in blanks and letter == " ":
            pieces.append(SPACE)
        elif is_bare or place in blanks or letter in '"\\':
            pieces.append(json.dumps(letter)[1:-1])
        else:
            pieces.append(letter)
    return "".join(pieces)
