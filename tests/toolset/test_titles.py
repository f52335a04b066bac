"""Titles of tools and labels of their arguments."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from tests.fakes.tools import ANY_OBJECT, Echo
from toolset import find
from toolset.titles import words_in
from toolset.tool import ToolSetupError, ValidatedTool

WORDS = {"en": "Place", "ja": "場所"}
SCHEMA = {"type": "object", "properties": {"what": {"type": "string"}}}


class Titled(Echo):
    """Has names for people."""

    titles: ClassVar[Any] = {"en": "Say it again", "ja": "くり返す"}
    labels: ClassVar[Any] = {"what": WORDS}


@pytest.mark.parametrize(
    ("locale", "title", "label"), [("ja-JP", "くり返す", "場所"), ("fr", "Say it again", "Place")]
)
def test_people_read_their_language_else_english(locale: str, title: str, label: str) -> None:
    """The locale is a tag of any language."""
    definition = ValidatedTool(Titled(), SCHEMA, ANY_OBJECT).definition
    assert (definition.title(locale), definition.labels_in(locale)) == (title, {"what": label})


def test_a_tool_without_a_title_has_its_name() -> None:
    """Nothing else is required of it."""
    definition = ValidatedTool(Echo(), ANY_OBJECT, ANY_OBJECT).definition
    assert (definition.title("ja"), definition.labels_in("ja"), words_in("ja", {})) == (
        "echo",
        {},
        "",
    )


@pytest.mark.parametrize(
    "titles",
    [None, "Echo", {"en": "Echo"}, {"en": "Echo", "ja": ""}, {**WORDS, "fr": "Lieu"}]
    + [
        {"en": word, "ja": "場所"}
        for word in ("a\nb", "a: b", "▸ a", "a (b)", " a", "a ", "x" * 41, 1, "a\u200bb")
    ],
)
def test_a_bad_title_or_label_stops_the_start(titles: Any) -> None:
    """It could pass for a name, a value or a line of its own."""
    for name, value in {"titles": titles, "labels": {"what": titles}}.items():
        kind = type("Bad", (Echo,), {name: value})
        with pytest.raises(ToolSetupError, match=f"tool echo: {name} must have one line"):
            ValidatedTool(kind(), SCHEMA, ANY_OBJECT)


def test_labels_are_of_parameters_that_there_are() -> None:
    """One of another name is a mistake, and labels are a mapping."""
    for labels, complaint in {
        "{'where': WORDS}": "labels names where",
        "[]": "labels must have",
    }.items():
        kind = type("Bad", (Echo,), {"labels": {"where": WORDS} if "where" in labels else []})
        with pytest.raises(ToolSetupError, match=complaint):
            ValidatedTool(kind(), SCHEMA, ANY_OBJECT)


def test_every_tool_of_ours_has_a_title() -> None:
    """No two have the same in one language."""
    for language in ("en", "ja"):
        titles = [getattr(tool, "titles", {}).get(language) for tool in find()]
        assert None not in titles
        assert len(set(titles)) == len(titles)
