"""Tables in Markdown: those that fit on a card are shown on one, others as text."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from bot.channels.line.text import cells_of, plain_text, take_table
from bot.channels.line.types import Bubble, LineMessage, alt_text

MOST_COLUMNS, MOST_ROWS, LONGEST_CELL = 4, 15, 60
FENCE = re.compile(
    r"[ \t]*+(`{3,}+|~{3,}+)([^`]*+)$"
)  # with what follows: behind a closing one nothing


class Table(NamedTuple):
    """A table, its head first; all rows have the same number of cells, each a line of plain
    text."""

    rows: tuple[tuple[str, ...], ...]

    @property
    def message(self) -> LineMessage:
        """The card; its rows as text stand in notifications."""
        return LineMessage(
            alt_text("\n".join(map(" | ".join, self.rows))), bubbles=(Bubble(rows=self.rows),)
        )


def segments(markdown: str) -> list[str | Table]:
    """The text between tables, and the tables that fit on a card."""
    found: list[str | Table] = []
    prose: list[str] = []
    lines, fence = deque(markdown.replace("\r\n", "\n").split("\n")), ""
    while lines:
        line = lines.popleft()
        if mark := FENCE.match(line):
            closes = mark[1].startswith(fence) and not mark[2].strip()
            fence = "" if fence and closes else fence or mark[1]
        taken = [] if fence else take_table(line, lines)
        if table := _table(taken):
            found += ["\n".join(prose), table]
            prose.clear()
        else:
            prose += taken or [line]
    return [*found, "\n".join(prose)]


def _table(lines: Sequence[str]) -> Table | None:
    """The table of these lines, whose second is its rule; None if it does not fit."""
    if not 2 < len(lines) <= MOST_ROWS + 2:
        return None
    head, _, *below = lines
    rows = [_cells(line) for line in (head, *below)]
    columns = len(rows[0])
    if not 1 < columns <= MOST_COLUMNS:
        return None
    if any(len(row) > columns or max(map(len, row)) > LONGEST_CELL for row in rows):
        return None
    return Table(tuple((*row, *[""] * (columns - len(row))) for row in rows))


def _cells(line: str) -> tuple[str, ...]:
    return tuple(" ".join(plain_text(cell).split()) for cell in cells_of(line))
