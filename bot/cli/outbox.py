"""``kaiwa outbox``: lists dead letters, puts them back, deletes them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bot.errors import BadInput

if TYPE_CHECKING:
    from bot.checks import CheckResult
    from bot.ops.dead_letters import Overview
    from bot.settings import Settings
    from bot.store import Store

WHAT_NEXT = "A running worker takes them up within a second or two; without one they wait."
Ids = Annotated[list[str], typer.Argument(metavar="ID…", help="Ids from kaiwa outbox list.")]

outbox_cli = typer.Typer(no_args_is_help=True)


@outbox_cli.callback()
def outbox() -> None:
    """List dead letters, which could not be delivered or answered; retry or delete them."""


@outbox_cli.command("list")
def list_outbox(
    limit: Annotated[int, typer.Option(min=1, max=4_000, help="How many, newest first.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, nothing shortened.")] = False,
) -> None:
    """List the dead letters: answers that were not delivered, and turns that were given up."""
    from msgspec.json import encode

    from bot.cli.prepare import use_store
    from bot.ops import dead_letters
    from bot.reports import print_table

    async def read(_settings: Settings, store: Store) -> tuple[Overview, int]:
        return await dead_letters.overview(store, limit), await store.now_ms()

    overview, now = use_store(read)
    if as_json:
        print(encode(overview).decode())
        return
    letters = overview.dead_letters
    if letters:
        head = ("id", "when", "conversation", "what", "why")
        print_table(head, dead_letters.rows(letters, now), elastic=2)
    number = str(overview.count or "none")
    if len(letters) < overview.count:
        number += f" ({len(letters)} shown)"
    waiting = f"conversations due: {overview.conversations_waiting}"
    print(f"dead letters: {number}, {waiting}", file=sys.stderr)


@outbox_cli.command()
def retry(
    ids: Ids = [],  # noqa: B006 -- Typer reads the default and never changes it
    every: Annotated[bool, typer.Option("--all", help="Every dead letter, oldest first.")] = False,
) -> None:
    """Put dead letters back: answers are sent again, messages are answered again."""
    from bot.cli.prepare import print_report, use_store
    from bot.ops import dead_letters

    if every == bool(ids):
        raise BadInput(
            "name the dead letters to put back, or all of them: kaiwa outbox retry --all"
        )

    async def put_back(_settings: Settings, store: Store) -> list[CheckResult]:
        letters = store.dead_letters
        chosen = await letters.read() if every else await dead_letters.find(letters, ids)
        return await dead_letters.put_back(letters, chosen)

    results = use_store(put_back)
    code = print_report(results)
    if not results:
        print("there are no dead letters", file=sys.stderr)
    elif any(result.result == "ok" for result in results):
        print(WHAT_NEXT, file=sys.stderr)
    raise typer.Exit(code)


@outbox_cli.command()
def discard(ids: Ids) -> None:
    """Delete dead letters for good."""
    from bot.cli.prepare import print_report, use_store
    from bot.ops import dead_letters

    async def delete(_settings: Settings, store: Store) -> list[CheckResult]:
        letters = store.dead_letters
        return await dead_letters.discard(letters, await dead_letters.find(letters, ids))

    raise typer.Exit(print_report(use_store(delete)))
