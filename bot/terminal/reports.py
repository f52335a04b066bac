"""Reports for an operator: aligned on a terminal, plain lines in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

STYLES = {"✓": "green", "!": "yellow", "✗": "red", "–": "dim"}


@dataclass(frozen=True, slots=True)
class Row:
    """``mark`` is one of ✓ ! ✗ –; ``hint`` says what to do."""

    mark: str
    name: str
    detail: str
    hint: str = ""


def print_rows(rows: Iterable[Row]) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        for row in rows:
            print(
                f"{row.mark} {row.name}: {row.detail}{f' ({row.hint})' if row.hint else ''}",
                flush=True,
            )
        return
    grid = Table.grid(padding=(0, 2))
    for row in rows:
        grid.add_row(
            Text(row.mark, STYLES[row.mark]),
            row.name,
            Text.assemble(row.detail, "  ", (row.hint, "dim")),
        )
    console.print(grid)


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, elastic: int = 1) -> None:
    """Print one line for each row; in a pipe without a head, columns separated by tabs.

    Args:
        elastic: how many columns, from the right, shrink to fit the terminal.
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        for row in rows:
            print("\t".join(row))
        return
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for name in head:
        table.add_column(
            name, no_wrap=name not in head[-elastic:]
        )  # Rich narrows only columns that wrap
    for row in rows:
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in row))
    console.print(table)
