"""``kaiwa eval``, with the demo model: rules, whose figures say nothing about any model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.evals.questions import load_questions
from tests.bot.command_line import Call

pytestmark = pytest.mark.usefixtures("restored_logging")


def test_it_prints_a_table_and_keeps_the_run(call: Call, tmp_path: Path) -> None:
    """Twice the same questions, twice the same answers: nothing has changed."""
    path = tmp_path / "results.json"
    arguments = (
        "eval",
        "--model",
        "demo",
        "--repeat",
        "1",
        "--parallel",
        "8",
        "--results",
        str(path),
    )
    code, out, err = call(*arguments)
    rows = [line.split("\t") for line in out.splitlines()]
    number = len(load_questions())
    assert code == 0
    assert [row[0] for row in rows[:9]] == [
        "one_tool", "several", "no_tool", "follow_up", "refusal", "injection", "en", "ja", "all",
    ]  # fmt: skip
    assert rows[8][1] == f"{number}"
    assert ["weather-umbrella-en", "0 of 1"] not in [row[:2] for row in rows]
    assert f"{number} of {number}\n" in err
    stored = json.loads(path.read_text("utf-8"))["runs"]["demo"]
    assert len(stored["scores"]) == number
    code, _, err = call(*arguments)
    assert code == 0
    assert f"since {stored['at']}: of {number} same questions 0 better, 0 worse\n" in err


def test_some_of_the_questions_are_asked_without_keeping_anything(
    call: Call, tmp_path: Path
) -> None:
    """The last whole run stays what later ones are compared with."""
    code, out, _ = call(
        "eval",
        "--model",
        "demo",
        "--repeat",
        "2",
        "--only",
        "time-city-en",
        KAIWA_DATA_DIR=str(tmp_path),
    )
    assert code == 0
    assert out.splitlines()[0].startswith("one_tool\t1\t100.0%\t20.7% to 100.0%\t0\t")
    assert list(tmp_path.iterdir()) == []


def test_runs_by_search_are_compared_with_each_other(call: Call, tmp_path: Path) -> None:
    """They are kept beside the run of the same model that declares all tools."""
    path = tmp_path / "results.json"
    for options in ((), ("--by-search",)):
        assert (
            call("eval", "--model", "demo", "--repeat", "1", "--results", str(path), *options)[0]
            == 0
        )
    assert list(json.loads(path.read_text("utf-8"))["runs"]) == ["demo", "demo with find_tools"]


def test_a_model_that_never_answers_is_an_error(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each question is wrong, and counted as not answered."""
    code, out, _ = call(
        "eval", "--model", "openai:nothing", "--repeat", "1", "--only", "none-hello-ja",
        "--timeout", "1",
        OPENAI_BASE_URL="http://127.0.0.1:9/v1", KAIWA_DATA_DIR=str(tmp_path),
    )  # fmt: skip
    assert code == 1
    assert out.splitlines()[0].split("\t")[:5] == ["no_tool", "1", "0.0%", "0.0% to 79.3%", "1"]


def test_what_cannot_be_asked_is_told_in_one_line(call: Call) -> None:
    """A model without a provider, a word that means no question."""
    assert call("eval", "--model", "nobody:x")[::2] == (
        2,
        "kaiwa: MODEL: write demo or PROVIDER:MODEL, where PROVIDER is one of gemini, vertex, "
        "openai, json, anthropic, "
        "ollama\n",
    )
    code, _, err = call("eval", "--model", "demo", "--only", "nonsense")
    assert (code, err[:40]) == (2, "kaiwa: --only: no question has such an i")
