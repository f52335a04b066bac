"""Markdown as LINE shows it: plain text, and small tables on cards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markdown_it.token import Token

from bot.channels.line.types import Bubble, LineMessage, alt_text
from bot.channels.markdown import parse

MOST_COLUMNS, MOST_ROWS, LONGEST_CELL = 4, 15, 60
# Twice as wide as a letter.
BULLET = "・"
# What Markdown gives a meaning. A text without it needs no parser, which takes most of the time
# that an answer costs.
SIGNS = re.compile(r"[*_~`\[<|\\]|^[ \t]*+(?:[-+#>=]|\d+[.)])", re.MULTILINE)
# Signs and lines; more are a tenth of a second's work, and no answer that somebody reads.
MOST_SIGNS = 4_000
# Stands behind a link's address. The parser leaves none in a text.
ENDED = "\0"
# What LINE would take for a part of the address.
BEHIND = re.compile(rf"{ENDED}(?=[^\s.,;:!?*_~'\"{ENDED}])")
BREAK = re.compile(r"<br[ \t]*+/?>", re.IGNORECASE)
UNDERLINE = re.compile(r"(?:\A|\n)={3,}+$", re.MULTILINE)
GAPS = re.compile(r"\n{3,}")
LINE_END = re.compile(r"(?<![ \t])[ \t]++$", re.MULTILINE)


class Table(NamedTuple):
    """A table that fits on a card, its head first; all rows have the same number of cells."""

    rows: tuple[tuple[str, ...], ...]

    @property
    def message(self) -> LineMessage:
        """The card; its rows as text stand in notifications."""
        shown = "\n".join(map(" | ".join, self.rows))
        return LineMessage(alt_text(shown), bubbles=(Bubble(rows=self.rows),))


class Piece(NamedTuple):
    """A line, a paragraph, a code block or a table.

    Attributes:
        before: the line ends between the piece and the one before it.
        table: the text as a table, if it is one and fits on a card.
    """

    before: str
    text: str
    table: Table | None = None


def pieces(markdown: str) -> list[Piece]:
    """The text without its marks. Its lines stay as they were written."""
    if not SIGNS.search(markdown):
        shown = LINE_END.sub("", markdown.replace("\r\n", "\n"))
        return [Piece("", GAPS.sub("\n\n", shown))]
    if len(SIGNS.findall(markdown)) + markdown.count("\n") > MOST_SIGNS:
        return [Piece("", markdown)]
    return _Renderer().render(parse(markdown))


def joined(shown: Iterable[Piece]) -> str:
    """The pieces as one text."""
    text = "".join(piece.before + piece.text for piece in shown)
    return text.strip("\n").rstrip()


def plain_text(markdown: str) -> str:
    """The text of Markdown, without its marks."""
    return joined(pieces(markdown))


class _Renderer:
    """Makes pieces of tokens."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        # The line below the last piece; -1 where something was left out below it.
        self._end = 0
        # What stands before the lines of the list items that are open.
        self._indents: list[str] = []
        self._marker = ""

    def render(self, tokens: Iterable[Token]) -> list[Piece]:
        """The pieces of a text."""
        rest = iter(tokens)
        for token in rest:
            lines = token.map or (self._end, self._end + 1)
            match token.type:
                case "list_item_open":
                    marker = f"{token.info}{token.markup} " if token.info else BULLET
                    self._marker = (self._marker or "".join(self._indents)) + marker
                    self._indents.append(" " * max(len(marker), 2))
                case "list_item_close":
                    if self._marker:
                        self._add("", lines)
                    self._indents.pop()
                case "hr":
                    self._end = -1
                case "fence":
                    self._add(token.content.removesuffix("\n"), lines)
                case "inline":
                    self._add(_words(token), lines)
                case "table_open":
                    rows = _rows(rest)
                    text = "\n".join(map(" | ".join, rows))
                    self._add(text, lines, None if token.level else _table(rows))
        return self._pieces

    def _add(self, text: str, lines: Sequence[int], table: Table | None = None) -> None:
        """Add a piece.

        Args:
            lines: its first line and the one below it.
        """
        if not (text or self._marker):
            self._end = -1
            return
        before = "\n\n" if lines[0] > self._end or self._end < 0 else "\n"
        indent = "".join(self._indents)
        shown = (self._marker or indent) + text.replace("\n", f"\n{indent}")
        self._pieces.append(Piece(before if self._pieces else "", shown, table))
        self._end = lines[1]
        self._marker = ""


def _rows(tokens: Iterable[Token]) -> list[list[str]]:
    """The cells of a table that has begun."""
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(" ".join(_words(token).split()))
    return rows


def _words(inline: Token) -> str:
    """The text of inline tokens; a link is its words and its address."""
    parts: list[str] = []
    links: list[tuple[int, str]] = []
    for token in inline.children or ():
        match token.type:
            case "text":
                parts.append(BREAK.sub("\n", token.content))
            case "code_inline":
                parts.append(token.content)
            case "softbreak" | "hardbreak":
                parts.append("\n")
            case "link_open":
                links.append((len(parts), str(token.attrs["href"])))
            case "link_close":
                start, address = links.pop()
                label = "".join(parts[start:]).strip(f" {ENDED}")
                if label in (address, address.partition("://")[2]):
                    label = ""
                parts[start:] = (f"{label} " if label else "", address, ENDED)
    text = BEHIND.sub(" ", "".join(parts)).replace(ENDED, "")
    return GAPS.sub("\n\n", UNDERLINE.sub("", text)).strip("\n")


def _table(rows: Sequence[Sequence[str]]) -> Table | None:
    """The table of these rows; None if it does not fit on a card."""
    fits = 1 < len(rows) <= MOST_ROWS + 1 and 1 < len(rows[0]) <= MOST_COLUMNS
    if fits and all(len(cell) <= LONGEST_CELL for row in rows for cell in row):
        return Table(tuple(map(tuple, rows)))
    return None
