"""Figures of a run, and what has changed since the run before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.errors import BadInput
from bot.evals import report
from bot.evals.questions import Question
from bot.evals.report import Run, Score, wilson
from bot.evals.results import keep_run, read_runs
from bot.evals.runner import Attempt
from bot.prices import Price, Prices
from bot.transcript import Usage

PRICES = Prices("2026-11-01", "made up", {"cheap": Price(input=1.0, cached=0.1, output=10.0)})
ONE = Question("one-en", "one_tool", "en", "?")
TWO = Question("two-ja", "no_tool", "ja", "？")
RIGHT = Attempt("one-en", usage=Usage(1_000_000, 500_000, 100_000), seconds=2.0, model="cheap")
WRONG = Attempt(
    "one-en", wrong="called\nnothing", usage=Usage(0, 0, 100_000), seconds=1.0, model="cheap"
)
FAILED = Attempt("two-ja", error="no answer in 60 s", seconds=60.0)


@dataclass(frozen=True)
class Interval:
    """An interval of literature."""

    right: int
    number: int
    low: float
    high: float


@pytest.mark.parametrize(
    "known",
    [Interval(0, 10, 0.0, 0.2775), Interval(5, 10, 0.2366, 0.7634), Interval(10, 10, 0.7225, 1.0)],
    ids=["none", "half", "all"],
)
def test_an_interval_is_wilsons(known: Interval) -> None:
    """Never beyond nothing and all."""
    assert wilson(known.right / known.number, known.number) == pytest.approx(
        (known.low, known.high), abs=1e-4
    )


def test_without_questions_nothing_is_known() -> None:
    """The interval is all there is."""
    assert wilson(0.0, 0) == (0.0, 1.0)


def test_the_table_counts_by_category_and_language() -> None:
    """Repetitions make no further questions; an error is a wrong answer, counted apart."""
    rows = list(report.rows([ONE, TWO], [RIGHT, WRONG, FAILED, FAILED], PRICES))
    assert rows == [
        ("one_tool", "1", "50.0%", "5.5% to 94.5%", "0", "1,000,000", "200,000", "2.5500", "1.50"),
        ("no_tool", "1", "0.0%", "0.0% to 79.3%", "2", "0", "0", "unknown", "60.00"),
        ("en", "1", "50.0%", "5.5% to 94.5%", "0", "1,000,000", "200,000", "2.5500", "1.50"),
        ("ja", "1", "0.0%", "0.0% to 79.3%", "2", "0", "0", "unknown", "60.00"),
        ("all", "2", "25.0%", "2.7% to 80.2%", "2", "1,000,000", "200,000", "2.5500", "30.75"),
    ]
    assert {len(row) for row in rows} == {len(report.HEAD)}


def test_the_cost_is_unknown_where_one_model_has_no_price() -> None:
    """Half a sum would look like a low one."""
    other = Attempt("one-en", usage=Usage(1), model="unheard-of")
    assert report.count("m", "now", [ONE], [RIGHT, other], PRICES).usd is None


def test_what_was_wrong_is_kept_with_the_run() -> None:
    """The first reason, on one line."""
    run = report.count("m", "now", [ONE, TWO], [RIGHT, WRONG, FAILED], PRICES)
    assert run.scores == {
        "one-en": Score(ONE.digest, 2, 1, 0, "called\nnothing"),
        "two-ja": Score(TWO.digest, 1, 0, 1, "no answer in 60 s"),
    }
    assert list(report.wrong_rows(run)) == [
        ("one-en", "1 of 2", "called nothing"),
        ("two-ja", "0 of 1", "no answer in 60 s"),
    ]
    assert (run.usage, run.usd, run.seconds) == (Usage(1_000_000, 500_000, 200_000), 2.55, 63.0)


def run_of(at: str = "then", **shares: float) -> Run:
    """A run with these shares of right answers in ten."""
    scores = {
        name: Score("d", 10, round(share * 10), 0, "" if share == 1 else "no")
        for name, share in shares.items()
    }
    return Run("m", at, Usage(), None, 0.0, scores)


def test_changes_tell_better_from_worse() -> None:
    """The worst first; questions that are new, gone or asked in other words are left out."""
    before = run_of(same=1, worse=1, better=0.2, gone=1, reworded=1)
    now = run_of("now", same=1, worse=0.5, better=1, new=0)
    now.scores["reworded"] = Score("e", 10, 0)
    assert list(report.change_rows(report.changes(before, now))) == [
        ("worse", "worse", "100% → 50%", "no"),
        ("better", "better", "20% → 100%", ""),
    ]
    assert report.summary(before, now) == "since then: of 3 same questions 1 better, 1 worse"


def test_the_last_run_of_each_model_is_kept(tmp_path: Path) -> None:
    """In a file that only its owner reads."""
    path = tmp_path / "evals.json"
    assert read_runs(path).runs == {}
    keep_run(path, run_of(a=1))
    keep_run(path, Run("other", "then", Usage(3), 0.5, 1.0, {}))
    keep_run(path, run_of("now", a=0))
    assert {name: run.at for name, run in read_runs(path).runs.items()} == {
        "m": "now",
        "other": "then",
    }
    assert read_runs(path).runs["other"].usd == 0.5
    assert path.stat().st_mode & 0o077 == 0
    assert [file.name for file in tmp_path.iterdir()] == ["evals.json"]


def test_a_file_that_holds_something_else_is_not_written_over(tmp_path: Path) -> None:
    """The option is named."""
    path = tmp_path / "evals.json"
    for text in ("[]", "{", '{"runs": 3}'):
        path.write_text(text, "utf-8")
        with pytest.raises(
            BadInput, match=r"^--results: .* cannot be read as results of earlier runs"
        ):
            keep_run(path, run_of(a=1))
    with pytest.raises(
        BadInput, match=r"^--results: .* cannot be written: No such file or directory$"
    ):
        keep_run(tmp_path / "missing" / "evals.json", run_of(a=1))
