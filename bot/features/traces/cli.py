"""The commands ``kaiwa trace``, ``conversations``, ``gaps``, ``acts`` and ``report``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bot.errors import BadInput

DayCount = Annotated[
    int, typer.Option(min=1, max=90, help="How many days; facts are kept for TRACE_DAYS.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def trace(
    context: typer.Context,
    which: Annotated[
        str,
        typer.Argument(
            metavar="TURN|CONVERSATION|last",
            help="turn_… as in the log, a conversation's id or digest, or the newest turn.",
            show_default=False,
        ),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON with all facts and words.")
    ] = False,
    raw: Annotated[
        Path | None,
        typer.Option(
            help="Write the requests to models and their responses into this new .zip.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show what a turn did, step by step, or the newest turns of a conversation."""
    from bot.features.traces import lists, looking
    from bot.features.traces.as_text import Look

    if as_json and raw:
        raise BadInput("--json prints, and --raw writes a file: choose one of them")

    read = partial(looking.look, which=which)
    found = context.obj(read)
    if isinstance(found, Look):
        lists.print_turn(found, as_json=as_json, raw=raw)
    elif raw:
        raise BadInput("--raw needs a turn: name one of the conversation's, turn_…")
    else:
        lists.print_turns(found, as_json=as_json)


def conversations(
    context: typer.Context,
    failed: Annotated[
        bool, typer.Option("--failed", help="Turns that failed, or a call or delivery of them.")
    ] = False,
    tool: Annotated[str, typer.Option(help="Turns that called this tool.")] = "",
    rated: Annotated[str, typer.Option(help="Turns with a rating: good or bad.")] = "",
    since: Annotated[str, typer.Option(help="Such as 2h, 3d or 2026-11-27T18:00.")] = "",
    place: Annotated[str, typer.Option(help="Id or digest of a place.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="How many, newest first.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List conversations with their turns, the newest first."""
    from bot.features.traces import lists, looking

    asked = looking.Asked(failed, tool, rated, since, place, limit)

    read = partial(looking.conversations, asked=asked)
    lists.print_conversations(*context.obj(read), as_json=as_json)


def gaps(context: typer.Context, days: DayCount = 7, as_json: AsJson = False) -> None:
    """Show what people asked and did not get: bad ratings, failed tools, limits, failed turns."""
    from bot.features.traces import lists, looking

    read = partial(looking.gaps, days=days)
    lists.print_gaps(context.obj(read), as_json=as_json)


def acts(context: typer.Context, days: DayCount = 7, as_json: AsJson = False) -> None:
    """Show the record of acts: calls that act and who decided, and who looked at words."""
    from bot.features.traces import lists, looking

    read = partial(looking.acts, days=days)
    lists.print_acts(*context.obj(read), as_json=as_json)


def report(context: typer.Context, days: DayCount = 7, as_json: AsJson = False) -> None:
    """Show people, turns, quick answers, failures, money, ratings and gaps of some days."""
    from bot.features.traces import lists, looking

    read = partial(looking.report, days=days)
    lists.print_report(context.obj(read), as_json=as_json)


COMMANDS = (trace, conversations, gaps, acts, report)
