"""``kaiwa feedback``: what people think of answers, by day, model and channel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from bot.conversation.feedback import KnownRating, read_ratings
from bot.store import Store
from bot.transcript import channel_of


class Line(Struct, frozen=True):
    """The numbers of ratings of a model's answers in a channel on a day."""

    day: str
    model: str
    channel: str
    good: int
    bad: int


class Report(Struct, frozen=True):
    """The ratings of several days' answers; ``good`` and ``bad`` are their sums."""

    lines: list[Line]
    good: int
    bad: int
    ratings: list[KnownRating]


async def report(store: Store, days: Sequence[str]) -> Report:
    """The ratings of these days' answers, in the order of the days."""
    ratings = await read_ratings(store, days)
    counts = Counter(
        (rating.day, rating.model, channel_of(rating.place), rating.is_good) for rating in ratings
    )
    groups = sorted(
        {group[:3] for group in counts}, key=lambda group: (days.index(group[0]), *group[1:])
    )
    lines = [Line(*group, counts[*group, True], counts[*group, False]) for group in groups]
    return Report(lines, sum(line.good for line in lines), sum(line.bad for line in lines), ratings)


def rows(lines: Sequence[Line]) -> Iterator[tuple[str, ...]]:
    """The lines as rows of a table."""
    for line in lines:
        yield (line.day, line.model, line.channel, f"{line.good:,}", f"{line.bad:,}")
