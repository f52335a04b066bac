"""The arguments of a tool call as an approval question shows them: complete, and without deceptive
characters."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bot.safe_text.glyphs import (
    BULLET,
    OURS,
    QUOTES,
    SPACE,
    invisible,
    isolate_rtl,
    lookalikes,
)

# characters of arguments; with the text around them they fit one message of every channel
SHOWN = 2_000

NAME = re.compile(r"\w[\w.-]*")
WORD = re.compile(r"(?:[^\W\d_]|[/~.])[^\s\"\\]*")  # never begins like a number
CONSTANT = re.compile("true|false|null|nan|[+-]?infinity", re.IGNORECASE)
PART = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|NaN|-?Infinity')
BLANKS = re.compile(r"\A[ \u3000]+|[ \u3000]{2,}|[ \u3000]+\Z")
NO_LABELS: Mapping[str, str] = MappingProxyType({})


def render_arguments(arguments: Mapping[str, Any], labels: Mapping[str, str] = NO_LABELS) -> str:
    """The arguments as they will be used, one a line; a label stands before the name, never in its
    place.

    One plain word stands as it is; any other text is quoted as in JSON, with escapes for line
    breaks, invisible characters, marks that cover letters, and lookalikes. Repeated spaces are
    shown as ``SPACE``. Right-to-left text does not reorder the text around it.
    """
    return "\n".join(
        isolate_rtl(f"{BULLET} {_labelled(name, labels)}: {_value(value)}")
        for name, value in arguments.items()
    )


def render_within_limit(
    arguments: Mapping[str, Any], labels: Mapping[str, str] = NO_LABELS
) -> str | None:
    """The rendered arguments; None where they are longer than ``SHOWN``."""
    # Rendering never shortens a text, and JSON adds less than twice as many characters between
    # values.
    if len(json.dumps(arguments, ensure_ascii=False)) > 2 * SHOWN:
        return None
    shown = render_arguments(arguments, labels)
    return shown if len(shown) <= SHOWN else None


def code_block(text: str) -> str:
    """A Markdown code block with a fence that the text cannot close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _labelled(name: str, labels: Mapping[str, str]) -> str:
    return f"{labels[name]} ({_name(name)})" if labels.get(name) else _name(name)


def _name(name: str) -> str:
    return name if NAME.fullmatch(name) and _escape(name) == name else f'"{_escape(name)}"'


def _value(value: object) -> str:
    if not isinstance(value, str):
        return PART.sub(_part, json.dumps(value, ensure_ascii=False))
    written = _escape(value)
    is_word = written == value and WORD.fullmatch(value) and not CONSTANT.fullmatch(value)
    return value if is_word else f'"{written}"'


def _part(part: re.Match[str]) -> str:
    """A text in a list or an object: a lookalike of a quotation mark could seem to end it."""
    if not part[0].startswith('"'):
        return "null"  # a number too large for JSON is stored as null, so the tool gets null
    return f'"{_escape(json.loads(part[0]), QUOTES)}"'


def _escape(text: str, also: frozenset[str] = frozenset()) -> str:
    """The text between quotation marks."""
    escaped = invisible(text) | lookalikes(text)
    escaped.update(index for index, letter in enumerate(text) if letter in OURS | also)
    blanks = {index for match in BLANKS.finditer(text) for index in range(*match.span())}
    pieces: list[str] = []
    is_bare = False  # the letter before is escaped: a mark cannot combine with it
    for index, letter in enumerate(text):
        is_bare = index in escaped or (is_bare and unicodedata.category(letter)[0] == "M")
        if index in blanks and letter == " ":
            pieces.append(SPACE)
        elif is_bare or index in blanks or letter in '"\\':
            pieces.append(json.dumps(letter)[1:-1])
        else:
            pieces.append(letter)
    return "".join(pieces)
