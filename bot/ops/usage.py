"""What the bot has used up, day by day and model by model, in tokens and estimated money, for its operator."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from msgspec import Struct, convert

from bot.store import Day, Store

TOP = 5
MILLION = 1_000_000
KINDS = ("turns", "messages", "input", "cached", "output", "thinking")
VERSION = r"(-(preview|exp|\d)[\w.-]*)?"  # what may follow a model's name and change nothing about its price


class Price(Struct, frozen=True):
    """US dollars for a million tokens; thinking is output."""

    input: float
    cached: float
    output: float


class Prices(Struct, frozen=True):
    """The prices that come with the package; estimates."""

    as_of: str
    source: str
    models: dict[str, Price]

    def of(self, model: str) -> Price | None:
        """The price of a model, or of the model it is a version of."""
        known = (price for name, price in self.models.items() if re.fullmatch(re.escape(name) + VERSION, model))
        return next(known, None)


class Line(Struct, frozen=True):
    """A model's day.

    Attributes:
        input: of which ``cached`` cost less.
        usd: estimated; None where the model's price is not known.
    """

    day: str
    model: str
    turns: int
    messages: int
    input: int
    cached: int
    output: int
    thinking: int
    usd: float | None


class Heavy(Struct, frozen=True):
    """Who has used much; the name is shortened."""

    name: str
    tokens: int


class Report(Struct, frozen=True):
    """Some days.

    Attributes:
        usd: estimated, of all lines with a price.
        prices_as_of: the day the prices were looked up.
    """

    lines: list[Line]
    users: list[Heavy]
    conversations: list[Heavy]
    usd: float
    prices_as_of: str
    prices_source: str


def load_prices() -> Prices:
    """Read the prices that come with the package."""
    return convert(tomllib.loads(files("bot").joinpath("prices.toml").read_text("utf-8")), Prices)


async def report(store: Store, days: Sequence[str], prices: Prices) -> Report:
    """What was used on these days; a day of which nothing is known any more has no lines."""
    kept = await store.budget.days(days)
    lines = [line for name, day in zip(days, kept, strict=True) for line in _lines(name, day, prices)]
    return Report(
        lines,
        _heaviest([day.users for day in kept]),
        _heaviest([day.conversations for day in kept]),
        round(sum(line.usd or 0 for line in lines), 4),
        prices.as_of,
        prices.source,
    )


def rows(lines: Sequence[Line]) -> Iterator[tuple[str, ...]]:
    """Lines as a table shows them."""
    for line in lines:
        counts = (f"{getattr(line, kind):,}" for kind in KINDS)
        yield (line.day, line.model, *counts, "" if line.usd is None else f"{line.usd:.4f}")


def _lines(name: str, day: Day, prices: Prices) -> Iterator[Line]:
    for model in sorted({key.partition(" ")[2] for key in day.counts} - {""}):
        counts = {kind: day.counts.get(f"{kind} {model}", 0) for kind in KINDS}
        yield Line(name, model, **counts, usd=_usd(counts, prices.of(model)))


def _usd(counts: Mapping[str, int], price: Price | None) -> float | None:
    if price is None:
        return None
    read = (counts["input"] - counts["cached"]) * price.input + counts["cached"] * price.cached
    return round((read + (counts["output"] + counts["thinking"]) * price.output) / MILLION, 6)


def _heaviest(rankings: Sequence[Mapping[str, int]]) -> list[Heavy]:
    tokens: Counter[str] = Counter()
    for ranking in rankings:
        tokens.update(ranking)
    return [Heavy(name, count) for name, count in tokens.most_common(TOP) if count]
