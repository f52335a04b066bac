"""Results as markdown, ready for docs/performance.md and docs/scaling.md."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence

ONE_RUN = "one run"


def heading(title: str, command: str, runs: str = "medians") -> str:
    """What was measured, by which command, and on what."""
    return (
        f"\n### {title}\n\n`{command}`: {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, {runs}.\n"
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of markdown, with a blank line after it."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def number(value: float) -> str:
    """Three digits that matter, thousands separated."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
