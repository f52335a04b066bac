"""The tools that are searched for are found by the words in which people ask for them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bot.evals.canned import canned_tools
from bot.evals.questions import Question, load_questions
from tests.toolset.contexts import context
from toolset.offer.search import found_in
from toolset.tool_map import FIND_TOOLS

TOOLS = canned_tools([], {})
DECLARED = {one.name for one in TOOLS.offered(tuple)}


def searched() -> Iterator[tuple[Question, str]]:
    """Every question with each tool of its calls that a request does not declare."""
    for question in load_questions():
        names = {name for call in question.calls for name in call.tools}
        for name in sorted(names - DECLARED):
            yield question, name


SEARCHED = list(searched())


def test_every_tool_that_is_searched_for_has_questions() -> None:
    """In both languages."""
    asked = {(name, question.language) for question, name in SEARCHED}
    names = {name for name in TOOLS if name not in DECLARED}
    assert names
    assert asked == {(name, language) for name in names for language in ("en", "ja")}


@pytest.mark.parametrize(
    ("question", "name"), SEARCHED, ids=[f"{question.id} {name}" for question, name in SEARCHED]
)
async def test_a_questions_own_words_find_its_tool(question: Question, name: str) -> None:
    """Before all others, the words of what the person has asked before included."""
    words = " ".join([*(one.user for one in question.before), question.ask])
    outcome = await TOOLS.call(FIND_TOOLS, {"query": words[:200]}, context())
    assert found_in(outcome.response)[0] == name
