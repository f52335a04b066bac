"""The command ``kaiwa places``."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated, Literal

import typer

from bot.errors import BadInput


def places(
    context: typer.Context,
    what: Annotated[
        Literal["", "explain"], typer.Argument(metavar="[explain]", help="What is set somewhere.")
    ] = "",
    conversation: Annotated[
        str,
        typer.Argument(metavar="[CONVERSATION]", help="As in the log: slack:T…:C…, line:U…:user:…"),
    ] = "",
    person: Annotated[str, typer.Option(help="The platform's id of somebody there.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List where people have written, with use and money, or explain what PLACES sets there."""
    from msgspec.json import encode

    from bot.features.places import report
    from bot.reports import print_table

    if (what == "explain") != bool(conversation):
        raise BadInput("write kaiwa places explain CONVERSATION, or kaiwa places alone")
    if what:
        lines = context.obj(partial(report.explain, conversation=conversation, person=person))
    else:
        lines = context.obj(report.seen)
    if as_json:
        print(encode(lines).decode())
        return
    head = ("field", "value", "set by") if what else ("place", "tables", "tokens", "USD")
    print_table(head, report.rows(lines), elastic=2)
    if not what:
        print(f"{len(lines)} places, use of {report.DAYS} days", file=sys.stderr)


COMMANDS = (places,)
