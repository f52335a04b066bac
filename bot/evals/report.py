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
from bot.ops.usage import cost
from bot.prices import Prices
from bot.transcript import Usage

Z = 1.959964  # of a two-sided interval of 95 %
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
        share more certain, and
            tell nothing about other questions.
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
    scores = {
        question.id: _score(question, made) for question, made in _by_question(questions, attempts)
    }
    seconds = round(sum(attempt.seconds for attempt in attempts), 3)
    return Run(model, at, _usage(attempts), _usd(attempts, prices), seconds, scores)


def rows(
    questions: Sequence[Question], attempts: Sequence[Attempt], prices: Prices
) -> Iterator[tuple[str, ...]]:
    """The table: each category, each language, everything."""
    for category in CATEGORIES:
        yield from _row(
            category, [one for one in questions if one.category == category], attempts, prices
        )
    for language in ("en", "ja"):
        yield from _row(
            language, [one for one in questions if one.language == language], attempts, prices
        )
    yield from _row("all", questions, attempts, prices)


def wrong_rows(run: Run) -> Iterator[tuple[str, ...]]:
    """The questions that were not always answered right."""
    for name, score in run.scores.items():
        if score.right < score.attempts:
            yield name, f"{score.right} of {score.attempts}", " ".join(score.wrong.split())


def changes(before: Run, now: Run) -> list[Change]:
    """The questions that both runs asked in the same words and that came out differently, the worse
    ones first."""
    shared = [
        (name, before.scores[name], score)
        for name, score in now.scores.items()
        if name in before.scores and before.scores[name].digest == score.digest
    ]
    found = [
        Change(name, old.share, new.share, new.wrong)
        for name, old, new in shared
        if old.share != new.share
    ]
    return sorted(found, key=lambda change: (change.now - change.before, change.question))


def change_rows(found: Sequence[Change]) -> Iterator[tuple[str, ...]]:
    """The changes as rows of a table."""
    for change in found:
        kind = "better" if change.now > change.before else "worse"
        yield (
            kind,
            change.question,
            f"{change.before:.0%} → {change.now:.0%}",
            " ".join(change.wrong.split()),
        )


def summary(before: Run, now: Run) -> str:
    """What to know about the changes in one line."""
    found = changes(before, now)
    better = sum(change.now > change.before for change in found)
    shared = sum(
        now.scores[name].digest == old.digest
        for name, old in before.scores.items()
        if name in now.scores
    )
    return (
        f"since {before.at}: of {shared} same questions {better} better, {len(found) - better} "
        "worse"
    )


def _row(
    name: str, questions: Sequence[Question], attempts: Sequence[Attempt], prices: Prices
) -> Iterator[tuple[str, ...]]:
    chosen = [(question, made) for question, made in _by_question(questions, attempts) if made]
    if not chosen:
        return
    made = [attempt for _, several in chosen for attempt in several]
    share = fmean(_score(question, several).share for question, several in chosen)
    low, high = wilson(share, len(chosen))
    usage, usd = _usage(made), _usd(made, prices)
    yield (
        name,
        f"{len(chosen)}",
        f"{share:.1%}",
        f"{low:.1%} to {high:.1%}",
        f"{sum(bool(attempt.error) for attempt in made)}",
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
    return ((question, made[question.id]) for question in questions)


def _score(question: Question, attempts: Sequence[Attempt]) -> Score:
    right = sum(attempt.is_right for attempt in attempts)
    errors = sum(bool(attempt.error) for attempt in attempts)
    wrong = next(
        (attempt.wrong or attempt.error for attempt in attempts if not attempt.is_right), ""
    )
    return Score(question.digest, len(attempts), right, errors, wrong)


def _usage(attempts: Sequence[Attempt]) -> Usage:
    return sum((attempt.usage for attempt in attempts), Usage())


def _usd(attempts: Sequence[Attempt], prices: Prices) -> float | None:
    """The estimated cost; None where a model that was used has no price."""
    by_model: Mapping[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        if attempt.model:
            by_model[attempt.model].append(attempt)
    costs = [cost(asdict(_usage(made)), prices.of(model)) for model, made in by_model.items()]
    known = [usd for usd in costs if usd is not None]
    return round(sum(known), 6) if known and len(known) == len(costs) else None
