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
# LINE would take other characters for a part of the address before them.
AFTER_URL = ".,;:!?*_~'\""
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
    renderer = _Renderer()
    for token in parse(markdown):
        renderer.take(token)
    return renderer.pieces


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
        self.pieces: list[Piece] = []
        # The line below the last piece, and whether something between it and the next was left out.
        self._end = 0
        self._is_gap = False
        # What stands before the lines of the list items that are open.
        self._indents: list[str] = []
        self._marker = ""
        self._item = [0, 0]
        self._rows: list[list[str]] | None = None

    def take(self, token: Token) -> None:
        """Take the next token of a block."""
        match token.type:
            case "list_item_open":
                marker = f"{token.info}{token.markup} " if token.info else BULLET
                self._marker = (self._marker or "".join(self._indents)) + marker
                self._indents.append(" " * max(len(marker), 2))
                self._item = token.map or self._item
            case "list_item_close":
                if self._marker:
                    self._add("", self._item)
                self._indents.pop()
            case "hr" if token.map:
                self._leave_out(token.map)
            case "fence" if token.map:
                self._add(token.content.removesuffix("\n"), token.map)
            case "inline" if token.map:
                self._take_words(_words(token.children or ()), token.map)
            case _:
                self._take_table(token)

    def _take_words(self, words: str, lines: Sequence[int]) -> None:
        if self._rows is None:
            self._add(words, lines)
        else:
            self._rows[-1].append(" ".join(words.split()))

    def _take_table(self, token: Token) -> None:
        match token.type:
            case "table_open":
                self._rows = []
                self._item = token.map or self._item
            case "tr_open" if self._rows is not None:
                self._rows.append([])
            case "table_close" if self._rows is not None:
                text = "\n".join(" | ".join(row) for row in self._rows)
                table = _table(self._rows) if token.level == 0 else None
                self._rows = None
                self._add(text, self._item, table)

    def _add(self, text: str, lines: Sequence[int], table: Table | None = None) -> None:
        """Add a piece.

        Args:
            lines: its first line and the one below it.
        """
        if not (text or self._marker):
            self._leave_out(lines)
            return
        before = "\n\n" if self._is_gap or lines[0] > self._end else "\n"
        indent = "".join(self._indents)
        shown = (self._marker or indent) + text.replace("\n", f"\n{indent}")
        self.pieces.append(Piece(before if self.pieces else "", shown, table))
        self._end = lines[1]
        self._is_gap = False
        self._marker = ""

    def _leave_out(self, lines: Sequence[int]) -> None:
        self._is_gap = self._is_gap or lines[0] > self._end
        self._end = lines[1]


def _words(tokens: Iterable[Token]) -> str:
    """The text of inline tokens; a link is its words and its address."""
    parts: list[str] = []
    links: list[tuple[int, str]] = []
    is_behind_address = False
    for token in tokens:
        text = _text(token)
        if is_behind_address and (text or token.type == "link_open"):
            is_behind_address = False
            if not text or not (text[0].isspace() or text[0] in AFTER_URL):
                parts.append(" ")
        parts.append(text)
        if token.type == "link_open":
            links.append((len(parts), str(token.attrs["href"])))
        elif token.type == "link_close":
            start, address = links.pop()
            label = "".join(parts[start:]).strip()
            del parts[start:]
            if label and label not in (address, address.partition("://")[2]):
                parts.append(f"{label} ")
            parts.append(address)
            is_behind_address = True
    return GAPS.sub("\n\n", UNDERLINE.sub("", "".join(parts))).strip("\n")


def _text(token: Token) -> str:
    match token.type:
        case "text":
            return BREAK.sub("\n", token.content)
        case "code_inline":
            return token.content
        case "softbreak" | "hardbreak":
            return "\n"
        case _:
            return ""


def _table(rows: Sequence[Sequence[str]]) -> Table | None:
    """The table of these rows; None if it does not fit on a card."""
    if not 1 < len(rows) <= MOST_ROWS + 1 or not 1 < len(rows[0]) <= MOST_COLUMNS:
        return None
    if any(len(cell) > LONGEST_CELL for row in rows for cell in row):
        return None
    return Table(tuple(tuple(row) for row in rows))
