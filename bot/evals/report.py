"""Counts a run: the share of right answers with its 95 % interval, tokens, money, seconds; and what
has changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from statistics import fmean

from msgspec import Struct
from msgspec.structs import asdict

from bot.evals.questions import CATEGORIES, Question
from bot.evals.runner import Attempt
from bot.prices import Prices, cost
from bot.transcript import Usage

# The quantile of the normal distribution for a two-sided interval of 95 %.
Z = 1.959964
HEAD = (
    "questions",
    "number",
    "right",
    "95 % interval",
    "no answer",
    "tokens in",
    "tokens out",
    "USD",
    "seconds",
)


class Score(Struct, frozen=True, omit_defaults=True):
    """What a question came to.

    Attributes:
        digest: of the question.
        attempts: how often it was asked.
        errors: attempts without an answer; they count as wrong.
        wrong: what was wrong at first; empty if nothing was.
    """

    digest: str
    attempts: int
    right: int
    errors: int = 0
    wrong: str = ""

    @property
    def share(self) -> float:
        return self.right / self.attempts


class Run(Struct, frozen=True):
    """One run over the questions.

    Attributes:
        at: ISO 8601.
        usd: estimated; None where the model's price is unknown.
        seconds: of all attempts together.
    """

    model: str
    at: str
    usage: Usage
    usd: float | None
    seconds: float
    scores: dict[str, Score]


class Change(Struct, frozen=True):
    """A question that was answered better or worse than in the run before; shares from 0 to 1."""

    question: str
    before: float
    now: float
    wrong: str


def wilson(share: float, number: int) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson's method.

    Args:
        number: of questions. Repetitions of a question are no further questions: they make its
            share more certain, and tell nothing about other questions.
    """
    if number == 0:
        return 0.0, 1.0
    spread = Z * Z / number
    middle = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / number + spread / (4 * number)) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def count(
    model: str, at: str, questions: Sequence[Question], attempts: Sequence[Attempt], prices: Prices
) -> Run:
    """Put the attempts of a run together."""
    scores: dict[str, Score] = {}
    for question, made in _by_question(questions, attempts):
        scores[question.id] = _score(question, made)
    return Run(
        model,
        at,
        usage=_usage(attempts),
        usd=_usd(attempts, prices),
        seconds=round(sum(attempt.seconds for attempt in attempts), 3),
        scores=scores,
    )


def rows(
    questions: Sequence[Question], attempts: Sequence[Attempt], prices: Prices
) -> Iterator[tuple[str, ...]]:
    """The table: each category, each language, everything."""
    for category in CATEGORIES:
        of_category = [one for one in questions if one.category == category]
        yield from _row(category, of_category, attempts, prices)
    for language in ("en", "ja"):
        in_language = [one for one in questions if one.language == language]
        yield from _row(language, in_language, attempts, prices)
    yield from _row("all", questions, attempts, prices)


def wrong_rows(run: Run) -> Iterator[tuple[str, ...]]:
    """The questions that were not always answered right."""
    for name, score in run.scores.items():
        if score.right < score.attempts:
            yield name, f"{score.right} of {score.attempts}", " ".join(score.wrong.split())


def changes(before: Run, now: Run) -> list[Change]:
    """The questions that both runs asked in the same words and that came out differently, the worse
    ones first."""
    found = []
    for name, old, new in _shared(before, now):
        if old.share != new.share:
            found.append(Change(name, old.share, new.share, new.wrong))
    return sorted(found, key=lambda change: (change.now - change.before, change.question))


def change_rows(found: Sequence[Change]) -> Iterator[tuple[str, ...]]:
    """The changes as rows of a table."""
    for change in found:
        kind = "better" if change.now > change.before else "worse"
        shares = f"{change.before:.0%} → {change.now:.0%}"
        yield kind, change.question, shares, " ".join(change.wrong.split())


def summary(before: Run, now: Run) -> str:
    """What to know about the changes in one line."""
    found = changes(before, now)
    better = sum(change.now > change.before for change in found)
    shared = len(list(_shared(before, now)))
    worse = len(found) - better
    return f"since {before.at}: of {shared} same questions {better} better, {worse} worse"


def _shared(before: Run, now: Run) -> Iterator[tuple[str, Score, Score]]:
    """The questions that both runs asked in the same words, with both scores."""
    for name, new in now.scores.items():
        old = before.scores.get(name)
        if old and old.digest == new.digest:
            yield name, old, new


def _row(
    name: str, questions: Sequence[Question], attempts: Sequence[Attempt], prices: Prices
) -> Iterator[tuple[str, ...]]:
    made: list[Attempt] = []
    scores: list[Score] = []
    for question, several in _by_question(questions, attempts):
        if several:
            made += several
            scores.append(_score(question, several))
    if not scores:
        return
    share = fmean(score.share for score in scores)
    low, high = wilson(share, len(scores))
    usage, usd = _usage(made), _usd(made, prices)
    yield (
        name,
        f"{len(scores)}",
        f"{share:.1%}",
        f"{low:.1%} to {high:.1%}",
        f"{sum(score.errors for score in scores)}",
        f"{usage.input:,}",
        f"{usage.output + usage.thinking:,}",
        "unknown" if usd is None else f"{usd:.4f}",
        f"{fmean(attempt.seconds for attempt in made):.2f}",
    )


def _by_question(
    questions: Sequence[Question], attempts: Sequence[Attempt]
) -> Iterator[tuple[Question, Sequence[Attempt]]]:
    made: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        made[attempt.question].append(attempt)
    for question in questions:
        yield question, made[question.id]


def _score(question: Question, attempts: Sequence[Attempt]) -> Score:
    right = errors = 0
    wrong = ""
    for attempt in attempts:
        right += attempt.is_right
        errors += bool(attempt.error)
        wrong = wrong or attempt.wrong or attempt.error
    return Score(question.digest, len(attempts), right, errors, wrong)


def _usage(attempts: Sequence[Attempt]) -> Usage:
    return sum((attempt.usage for attempt in attempts), Usage())


def _usd(attempts: Sequence[Attempt], prices: Prices) -> float | None:
    """The estimated cost; None where a model that was used has no price."""
    by_model: Mapping[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        if attempt.model:
            by_model[attempt.model].append(attempt)
    if not by_model:
        return None
    total = 0.0
    for model, made in by_model.items():
        usd = cost(asdict(_usage(made)), prices.of(model))
        if usd is None:
            return None
        total += usd
    return round(total, 6)
