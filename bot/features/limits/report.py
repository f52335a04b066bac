"""``kaiwa usage``: tokens and estimated cost by day and model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from bot.features.limits.store import Counters, Totals
from bot.prices import Prices, cost
from bot.store import Store

TOP = 5
KINDS = ("turns", "messages", "input", "cached", "output", "thinking", "searches")


class Line(Struct, frozen=True):
    """The use of a model on a day.

    Attributes:
        persona: digest of the one that the model had; empty for a request without one.
        input: includes ``cached``, which cost less.
        searches: of the vendor's own search; not in ``usd``.
        usd: estimated; None where the model's price is unknown.
    """

    day: str
    model: str
    persona: str
    turns: int
    messages: int
    input: int
    cached: int
    output: int
    thinking: int
    searches: int
    usd: float | None


class Heavy(Struct, frozen=True):
    """The shortened name of a user or conversation with high use, and its tokens."""

    name: str
    tokens: int


class Report(Struct, frozen=True):
    """The use of several days.

    Attributes:
        usd: estimated, of all lines with a price.
        prices_as_of: the date of the prices.
    """

    lines: list[Line]
    users: list[Heavy]
    conversations: list[Heavy]
    usd: float
    prices_as_of: str
    prices_source: str


async def report(store: Store, days: Sequence[str], prices: Prices) -> Report:
    """The use of these days; a day without data has no lines."""
    counters = await Counters(store).days(days)
    lines: list[Line] = []
    for name, day in zip(days, counters, strict=True):
        lines += _lines(name, day, prices)
    return Report(
        lines=lines,
        users=_heaviest(day.users for day in counters),
        conversations=_heaviest(day.conversations for day in counters),
        usd=round(sum(line.usd or 0 for line in lines), 4),
        prices_as_of=prices.as_of,
        prices_source=prices.source,
    )


def rows(lines: Sequence[Line]) -> Iterator[tuple[str, ...]]:
    """The lines as rows of a table."""
    for line in lines:
        counts = (f"{getattr(line, kind):,}" for kind in KINDS)
        usd = "" if line.usd is None else f"{line.usd:.4f}"
        yield (line.day, line.model, line.persona, *counts, usd)


def _lines(name: str, day: Totals, prices: Prices) -> Iterator[Line]:
    for group in sorted({key.partition(" ")[2] for key in day.counts} - {""}):
        model, _, persona = group.partition(" ")
        counts = {kind: day.counts[f"{kind} {group}"] for kind in KINDS}
        yield Line(name, model, persona, **counts, usd=cost(counts, prices.of(model)))


def _heaviest(rankings: Iterable[Counter[str]]) -> list[Heavy]:
    tokens = sum(rankings, Counter[str]())
    return [Heavy(name, count) for name, count in tokens.most_common(TOP)]
