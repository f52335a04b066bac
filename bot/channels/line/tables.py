"""Tables in Markdown: those that fit on a card are shown on one, others as text."""

from __future__ import annotations

import re
from collections import deque
from itertools import islice, takewhile
from typing import NamedTuple

from bot.channels.line.text import cells_of, is_table_rule, plain_text
from bot.channels.line.types import Card, LineMessage, alt_text

MOST_COLUMNS, MOST_ROWS, LONGEST_CELL = 4, 15, 60
FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")


class Table(NamedTuple):
    """A table, its head first; all rows have the same number of cells, each a line of plain text."""

    rows: tuple[tuple[str, ...], ...]

    @property
    def message(self) -> LineMessage:
        """The card; its rows as text stand in notifications."""
        return LineMessage(alt_text("\n".join(map(" | ".join, self.rows))), cards=(Card(rows=self.rows),))


def segments(markdown: str) -> list[str | Table]:
    """The text between tables, and the tables that fit on a card."""
    found: list[str | Table] = []
    prose: list[str] = []
    lines, fence = deque(markdown.replace("\r\n", "\n").split("\n")), ""
    while lines:
        line = lines.popleft()
        if mark := FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        if not fence and (table := _table(line, lines)):
            found += ["\n".join(prose), table]
            prose.clear()
            for _ in table.rows:  # as many lines: the rule stands in place of the head
                lines.popleft()
        else:
            prose.append(line)
    return [*found, "\n".join(prose)]


def _table(head: str, lines: deque[str]) -> Table | None:
    """The table whose head and next lines these are; None where there is none, or it does not fit."""
    if "|" not in head or not lines or not is_table_rule(lines[0]):
        return None
    below = list(takewhile(lambda line: "|" in line, islice(lines, 1, MOST_ROWS + 2)))
    rows = [_cells(line) for line in (head, *below)]
    columns = len(rows[0])
    is_small = 1 < columns <= MOST_COLUMNS and 0 < len(below) <= MOST_ROWS
    if not is_small or any(len(row) > columns or max(map(len, row)) > LONGEST_CELL for row in rows):
        return None
    return Table(tuple((*row, *[""] * (columns - len(row))) for row in rows))


def _cells(line: str) -> tuple[str, ...]:
    return tuple(" ".join(plain_text(cell).split()) for cell in cells_of(line))
