"""The facts are those of the recordings, and hold nothing recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.facts.read import FOLDER, facts
from tests.facts.scrub import WORD, WORDS
from tests.facts.write import FILES, OTHERS, made, written
from tests.shared_data import recorded

NAMES = {"headers", "fields", "arguments", "answer"}
LONG = 8  # shorter strings are words of a form more often than somebody's


def strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every string, with the field it stands in."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from strings(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, key)
    elif isinstance(value, str):
        yield key, value


def source(name: str) -> tuple[str, ...]:
    """The folder that a file of facts was taken from."""
    if name == "slack_methods":
        return "..", "specs", "slack"
    return (name.partition("_")[0] if name in OTHERS else name,)


def spoken(folder: Path) -> Iterator[str]:
    """Every string of a vendor's recordings that is nobody's vocabulary."""
    for path in folder.rglob("*.json"):
        content = json.loads(path.read_text("utf-8"))
        content.pop("_source", None)
        for key, value in strings(content):
            known = key in {*WORDS, "format", "method", "name"} and WORD.fullmatch(value)
            if len(value) >= LONG and not known:
                yield value


@pytest.mark.parametrize("name", FILES)
def test_the_facts_are_those_of_the_recordings(name: str) -> None:
    """``python -m tests.facts.write`` would write what stands there."""
    recorded(
        *source(name), what="the comparison of our facts with the recordings they were taken from"
    )
    assert (FOLDER / f"{name}.json").read_text("utf-8") == written(made(name))


@pytest.mark.parametrize("name", FILES)
def test_no_recorded_text_stands_in_the_facts(name: str) -> None:
    """No id, key or sentence of a recording is among their values."""
    folder = recorded(*source(name), what="the search of our facts for recorded texts")
    stored = {value for key, value in strings(facts(name)) if key not in WORDS and key not in NAMES}
    assert stored & set(spoken(folder)) == set()


@pytest.mark.parametrize("name", FILES)
def test_there_are_facts_of_every_vendor(name: str) -> None:
    """An empty file would prove nothing."""
    assert len(facts(name)) >= 3
