"""The file of an interrupted run: what of it counts for the run that goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.errors import BadInput
from bot.evals.questions import Question
from bot.evals.results import Head, keeping, read_unfinished
from bot.evals.runner import Attempt
from bot.transcript import Usage

HELLO, BYE = Question("hello", "no_tool", "en", "Hello"), Question("bye", "no_tool", "en", "Bye")
BEGUN, NOW = Head("setup", "2026-11-20T09:00:00+00:00"), Head("setup", "2026-11-21T09:00:00+00:00")
RIGHT, WRONG = (
    Attempt("hello", usage=Usage(5, 0, 1), seconds=0.5, model="m"),
    Attempt("bye", wrong="said nothing"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with three answers; what failed is not in it."""
    path = tmp_path / "evals.json.model.unfinished"
    with keeping(read_unfinished(path, BEGUN, (HELLO, BYE), 3), (HELLO, BYE)) as keep:
        for attempt in (RIGHT, Attempt("hello", error="refused"), RIGHT, WRONG):
            keep(attempt)
    return path


def test_the_same_run_goes_on(path: Path) -> None:
    """With everything about each answer, and for its owner's eyes only; surplus answers are left
    out."""
    run = read_unfinished(path, NOW, (HELLO, BYE), 3)
    assert (run.head, run.answers) == (BEGUN, [RIGHT, RIGHT, WRONG])
    assert read_unfinished(path, NOW, (HELLO, BYE), 1).answers == [RIGHT, WRONG]
    assert path.stat().st_mode & 0o077 == 0


def test_another_setup_begins_anew(path: Path) -> None:
    """Another prompt, other tools."""
    other = Head("other", NOW.at)
    run = read_unfinished(path, other, (HELLO, BYE), 3)
    assert (run.head, run.answers) == (other, [])
    with keeping(run, (HELLO, BYE)):
        assert read_unfinished(path, other, (HELLO, BYE), 3).head == other


def test_a_question_that_has_changed_is_asked_again(path: Path) -> None:
    """So is one that cannot be read."""
    changed = Question("hello", "no_tool", "en", "Hello there")
    path.write_bytes(path.read_bytes() + b'{"digest":"\xff\n[]\n')
    assert read_unfinished(path, NOW, (changed, BYE), 3).answers == [WRONG]


@pytest.mark.parametrize("content", [b"", b"\n", b"[1]\n", b"\xff\xfe"])
def test_another_file_counts_for_nothing(path: Path, content: bytes) -> None:
    """Whatever is in it."""
    path.write_bytes(content)
    run = read_unfinished(path, NOW, (HELLO,), 3)
    assert (run.head, run.answers) == (NOW, [])


def test_a_file_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """Before anything is asked."""
    with pytest.raises(BadInput, match="cannot be read"):
        read_unfinished(tmp_path, NOW, (HELLO,), 3)
    run = read_unfinished(tmp_path / "no folder" / "file", NOW, (HELLO,), 3)
    with pytest.raises(BadInput, match="cannot be written"), keeping(run, (HELLO,)):
        pass
