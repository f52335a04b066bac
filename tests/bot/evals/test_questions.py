"""The questions and the tools' fixed results: well formed, for tools and arguments that there
are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import toolset
from bot.errors import BadInput
from bot.evals.canned import canned_tools
from bot.evals.questions import CATEGORIES, ExpectedCall, choose, load_questions, load_results
from tests.project import ROOT
from tests.toolset.arguments import sample
from tests.toolset.contexts import context
from toolset.decorator import schemas_of

QUESTIONS = load_questions()
RESULTS = load_results()
SCHEMAS: dict[str, Any] = {tool.name: schemas_of(tool) for tool in toolset.find()}
EXPECTED = [
    (question, call, name)
    for question in QUESTIONS
    for call in question.calls
    for name in call.tools
]


def test_there_are_enough_questions_of_every_kind() -> None:
    """At least 150; 60 in each language, ten of each category, ids once each."""
    assert len(QUESTIONS) >= 150
    assert min(Counter(question.language for question in QUESTIONS).values()) >= 60
    categories = Counter(question.category for question in QUESTIONS)
    assert set(categories) == set(CATEGORIES)
    assert min(categories.values()) >= 10
    assert [
        name for name, times in Counter(question.id for question in QUESTIONS).items() if times > 1
    ] == []
    assert [
        question.id for question in QUESTIONS if not question.id.endswith(f"-{question.language}")
    ] == []


def test_every_category_is_asked_in_both_languages() -> None:
    """At least five questions of each."""
    pairs = Counter((question.category, question.language) for question in QUESTIONS)
    assert len(pairs) == 2 * len(CATEGORIES)
    assert min(pairs.values()) >= 5


def test_most_tools_are_asked_for_in_both_languages() -> None:
    """Of those that existed when the questions were written."""
    asked = {(name, question.language) for question, _, name in EXPECTED}
    assert {name for name, _ in asked} == set(RESULTS) | {"calculate"}
    assert [
        name for name, language in asked if (name, {"en": "ja", "ja": "en"}[language]) not in asked
    ] == ["run_command"]


def test_every_tool_that_is_named_exists() -> None:
    """Whether it must be called, may be called, or has a result."""
    named = {name for _, _, name in EXPECTED} | {
        name for question in QUESTIONS for name in question.may
    }
    assert named | set(RESULTS) | {
        name for question in QUESTIONS for name in question.results
    } <= set(SCHEMAS)


def test_what_a_category_means_is_kept() -> None:
    """No call where no tool is wanted, one where one is, several where several are; answers before
    a follow-up."""
    by_category = {
        category: [one for one in QUESTIONS if one.category == category] for category in CATEGORIES
    }
    assert all(len(question.calls) == 1 for question in by_category["one_tool"])
    assert all(len(question.calls) > 1 for question in by_category["several"])
    assert not any(
        question.calls for name in ("no_tool", "refusal") for question in by_category[name]
    )
    assert all(question.before or question.notes for question in by_category["follow_up"])


@pytest.mark.parametrize("name", sorted({name for _, _, name in EXPECTED}))
def test_the_arguments_that_are_wanted_fit_the_schema(name: str) -> None:
    """Each is one of the tool's; what it must equal is allowed; what must be absent is not
    required."""
    parameters = SCHEMAS[name][0]
    for question, call, _ in (expected for expected in EXPECTED if expected[2] == name):
        for argument, predicate in _predicates(call):
            assert argument in parameters["properties"], question.id
            if predicate.equals is not None:
                complaints = Draft202012Validator(parameters["properties"][argument]).iter_errors(
                    predicate.equals
                )
                assert [complaint.message for complaint in complaints] == [], question.id
            assert not (predicate.absent and argument in parameters.get("required", ())), (
                question.id
            )
            is_set = (
                predicate.equals is not None
                or predicate.contains
                or predicate.any_of
                or predicate.absent
            )
            assert is_set, question.id


async def test_every_result_fits_the_response_schema_of_its_tool() -> None:
    """The shared ones and each question's own, with arguments put in."""
    tools = canned_tools(QUESTIONS, RESULTS)
    shared = [("", name) for name in RESULTS]
    for conversation, name in shared + [
        (one.id, name) for one in QUESTIONS for name in one.results
    ]:
        codes = {"from": "EUR", "to": "JPY"} if name == "convert_currency" else {}
        here = replace(context(), conversation=conversation)
        outcome = await tools.call(name, sample(SCHEMAS[name][0]) | codes, here)
        assert not outcome.is_error, f"{conversation} {name}: {outcome.response}"


def test_each_tool_of_a_question_has_a_result() -> None:
    """Its own or the shared one."""
    missing = [
        (one.id, name)
        for one, _, name in EXPECTED
        if name not in RESULTS and name not in one.results
    ]
    assert missing == []


def test_words_choose_questions() -> None:
    """A category, a language, or how ids begin; without words all."""
    assert choose(QUESTIONS, []) == QUESTIONS
    assert {one.category for one in choose(QUESTIONS, ["refusal", "injection"])} == {
        "refusal",
        "injection",
    }
    assert {one.language for one in choose(QUESTIONS, ["ja"])} == {"ja"}
    assert [one.id for one in choose(QUESTIONS, ["weather-coat"])] == ["weather-coat-en"]
    with pytest.raises(
        BadInput, match=r"^--only: no question has such an id, category \(one_tool, several, "
    ):
        choose(QUESTIONS, ["nonsense"])


def test_what_holds_for_a_file_holds_for_its_questions(tmp_path: Path) -> None:
    """Beside what a question allows itself; a question that is changed has another digest."""
    form = (
        'may = ["calculate"]\n[[question]]\nid = "a-en"\n'
        'category = "no_tool"\nlanguage = "en"\nask = "{ask}"\n'
    )
    (tmp_path / "a.toml").write_text(form.format(ask="Hi") + 'may = ["wikipedia"]', "utf-8")
    (question,) = load_questions(tmp_path)
    assert question.may == ["wikipedia", "calculate"]
    (tmp_path / "a.toml").write_text(form.format(ask="Ho"), "utf-8")
    assert load_questions(tmp_path)[0].digest != question.digest


@pytest.mark.parametrize(
    "text", ["=", "[[question]]\nid = 3", '[[question]]\nid = "a"\nasks = "b"']
)
def test_a_file_in_another_form_is_named(tmp_path: Path, text: str) -> None:
    """With what is wrong."""
    (tmp_path / "a.toml").write_text(text, "utf-8")
    with pytest.raises(BadInput, match=r"^a\.toml: "):
        load_questions(tmp_path)


def _predicates(call: ExpectedCall) -> Iterator[tuple[str, Any]]:
    return ((name, predicate) for choice in call.choices for name, predicate in choice.items())


def test_the_example_of_the_document_is_a_question(tmp_path: Path) -> None:
    """``docs/evals.md`` shows the form as it is read."""
    (example,) = re.findall(
        r"```toml\n(.*?)```", (ROOT / "docs" / "evals.md").read_text("utf-8"), re.DOTALL
    )
    (tmp_path / "a.toml").write_text(example, "utf-8")
    assert [question.id for question in load_questions(tmp_path)] == ["follow-currency-en"]
