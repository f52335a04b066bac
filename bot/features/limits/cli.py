"""The command ``kaiwa usage``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bot.features.limits.report import Report
    from bot.settings import Settings
    from bot.store import Store


def usage(
    context: typer.Context,
    days: Annotated[int, typer.Option(min=1, max=35, help="How many days, today included.")] = 7,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show tokens and estimated cost by day, model and persona, and who has used most."""
    from msgspec.json import encode

    from bot.clock import Days
    from bot.features.limits.report import KINDS, report, rows
    from bot.prices import load_prices
    from bot.reports import print_table

    async def read(settings: Settings, store: Store) -> Report:
        return await report(store, Days(settings.timezone).latest(days), load_prices())

    found: Report = context.obj(read)
    if as_json:
        print(encode(found).decode())
        return
    print_table(("day", "model", "persona", *KINDS, "USD"), rows(found.lines))
    heavy = [("user", one.name, f"{one.tokens:,}") for one in found.users]
    heavy += [("conversation", one.name, f"{one.tokens:,}") for one in found.conversations]
    if heavy:
        print(flush=True)
        print_table(("most tokens", "", "tokens"), heavy)
    money = f"about {found.usd:.2f} USD in {days} days"
    prices = f"{found.prices_as_of} ({found.prices_source})"
    print(f"{money}, estimated with prices of {prices}", file=sys.stderr)


COMMANDS = (usage,)
