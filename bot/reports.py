"""Reports for an operator: aligned on a terminal, plain lines in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bot.checks import CheckResult

MARKS = {
    "ok": ("✓", "green"),
    "off": ("–", "dim"),
    "warning": ("!", "yellow"),
    "failure": ("✗", "red"),
}


def print_checks(results: Iterable[CheckResult]) -> None:
    """Print one line for each result."""
    console = Console(highlight=False)
    grid = Table.grid(padding=(0, 2))
    for result in results:
        mark = MARKS[result.result]
        if console.is_terminal:
            rest = Text.assemble(result.detail, "  ", (result.fix, "dim"))
            grid.add_row(Text.assemble(mark), result.name, rest)
            continue
        fix = f" ({result.fix})" if result.fix else ""
        print(f"{mark[0]} {result.name}: {result.detail}{fix}", flush=True)
    if grid.row_count:
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
        # Rich narrows only columns that wrap.
        table.add_column(name, no_wrap=name not in head[-elastic:])
    for row in rows:
        table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in row))
    console.print(table)
