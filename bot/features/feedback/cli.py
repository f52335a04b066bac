"""The command ``kaiwa feedback``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bot.features.feedback.report import Report
    from bot.settings import Settings
    from bot.store import Store


def feedback(
    context: typer.Context,
    days: Annotated[
        int, typer.Option(min=1, max=90, help="How many days of answers, today included.")
    ] = 7,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every rating.")] = False,
) -> None:
    """Show what people think of answers by day, model, persona and channel."""
    from msgspec.json import encode

    from bot.clock import Days
    from bot.features.feedback.report import report, rows
    from bot.reports import print_table

    async def read(settings: Settings, store: Store) -> Report:
        return await report(store, Days(settings.timezone).latest(days))

    found: Report = context.obj(read)
    if as_json:
        print(encode(found).decode())
        return
    if found.lines:
        print_table(("day", "model", "persona", "channel", "good", "bad"), rows(found.lines))
    print(f"{found.good:,} good and {found.bad:,} bad ratings in {days} days", file=sys.stderr)


COMMANDS = (feedback,)
