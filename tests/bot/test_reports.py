"""Reports: aligned for a person, plain for a program."""

from __future__ import annotations

import pytest

from bot.checks import CheckResult
from bot.reports import print_checks, print_table

ROWS = [
    CheckResult("ok", "store", "answers"),
    CheckResult("warning", "model", "demo [model]", "set GEMINI_API_KEY"),
]
TABLE = [("get_weather", "low", "Weather " * 20), ("add", "low", "Sums")]


def test_a_report_in_a_pipe_has_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each part, whatever the width."""
    print_checks(ROWS)
    assert (
        capsys.readouterr().out == "✓ store: answers\n! model: demo [model] (set GEMINI_API_KEY)\n"
    )


def test_a_report_on_a_terminal_is_aligned(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mark, name, then the rest; brackets are no markup."""
    on_a_terminal(monkeypatch)
    print_checks(ROWS)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["✓  store  answers", "!  model  demo [model]  set GEMINI_API_KEY"]


def test_a_table_in_a_pipe_is_parted_by_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    """Ready for cut and awk."""
    print_table(("tool", "risk", "description"), TABLE)
    assert capsys.readouterr().out.splitlines()[1] == "add\tlow\tSums"


def test_a_table_on_a_terminal_keeps_one_line_for_each_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is too long is cut in the last column."""
    on_a_terminal(monkeypatch)
    print_table(("tool", "risk", "description"), TABLE)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "tool         risk  description",
        "get_weather  low   Weather Weather Weather Weather Weather Weather Weather We…",
        "add          low   Sums",
    ]


def test_several_columns_may_share_the_room(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where two columns are long, each is cut to about what the other gets; those before stay
    whole."""
    on_a_terminal(monkeypatch)
    print_table(
        ("id", "what", "why"), [("07-1763700000000-0", "answer " * 20, "refused " * 20)], elastic=2
    )
    _, line = capsys.readouterr().out.splitlines()
    assert line.split("  ")[0] == "07-1763700000000-0"
    assert [line.count(word) for word in ("answer", "refused")] == [4, 3]


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Rich believe that it draws on a terminal without colours, which is 80 cells wide."""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "dumb")
