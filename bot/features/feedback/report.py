"""``kaiwa feedback``: what people think of answers, by day, model and channel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from bot.features.feedback.store import Rating, Ratings
from bot.store import Store
from bot.transcript import channel_of

# The index of the day, the model, its persona, the channel.
Group = tuple[int, str, str, str]


class Line(Struct, frozen=True):
    """The numbers of ratings of a model's answers in a channel on a day."""

    day: str
    model: str
    persona: str
    channel: str
    good: int
    bad: int


class Report(Struct, frozen=True):
    """The ratings of several days' answers; ``good`` and ``bad`` are their sums."""

    lines: list[Line]
    good: int
    bad: int
    ratings: list[Rating]


async def report(store: Store, days: Sequence[str]) -> Report:
    """The ratings of these days' answers, in the order of the days."""
    ratings = await Ratings(store).read(days)
    counts: Counter[tuple[Group, bool]] = Counter()
    for rating in ratings:
        group = days.index(rating.day), rating.model, rating.persona, channel_of(rating.place)
        counts[group, rating.is_good] += 1
    lines = []
    for group in sorted({group for group, _ in counts}):
        at, model, persona, channel = group
        good, bad = counts[group, True], counts[group, False]
        lines.append(Line(days[at], model, persona, channel, good, bad))
    good = sum(line.good for line in lines)
    return Report(lines, good, len(ratings) - good, ratings)


def rows(lines: Sequence[Line]) -> Iterator[tuple[str, ...]]:
    """The lines as rows of a table."""
    for line in lines:
        yield (line.day, line.model, line.persona, line.channel, f"{line.good:,}", f"{line.bad:,}")
