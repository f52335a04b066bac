"""The Japanese documents say what the English ones say: the same headings, steps, commands and
links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project import ROOT, files

JAPANESE = ROOT / "docs" / "ja"
NAMES = ("README.md", "line.md", "slack.md", "start.md", "troubleshooting.md")
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)|<(https?://[^>]+)>")
COMMENT = re.compile(r"(^|\s)# .*$", re.MULTILINE)
LIST = re.compile(r"^ *(?:\d+\.|-) ", re.MULTILINE)
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)


def english_of(name: str) -> Path:
    """The document that a Japanese one is the translation of."""
    return ROOT / name if name == "README.md" else ROOT / "docs" / name


def blocks(document: str) -> list[tuple[str, str]]:
    """Language and text of each block of code, without comments."""
    return [(kind, COMMENT.sub("", text)) for _, kind, text in BLOCK.findall(document)]


def codes(document: str) -> list[str]:
    """What stands between backticks, each once."""
    return sorted(set(CODE.findall(BLOCK.sub("", document))))


def levels(document: str) -> list[int]:
    """Of all headings."""
    return [len(marks) for marks, _ in HEADING.findall(BLOCK.sub("", document))]


def shape(document: str) -> tuple[int, int]:
    """How many steps and rows of tables there are."""
    prose = BLOCK.sub("", document)
    return len(LIST.findall(prose)), len(ROW.findall(prose))


def place_of(path: Path, anchor: str) -> str:
    """Where a link leads: the English document, and a heading by its number, which is the same in
    both languages."""
    english = english_of(path.name) if path.parent == JAPANESE else path
    place = english.relative_to(ROOT).as_posix()
    if not anchor:
        return place
    document = BLOCK.sub("", path.read_text("utf-8"))
    headings = (re.sub(r"[^\w\- ]", "", text.lower()) for _, text in HEADING.findall(document))
    anchors = [heading.replace(" ", "-") for heading in headings]
    return f"{place}#{anchors.index(anchor)}"


def links(path: Path) -> list[str]:
    """Where the links of a document lead, without those to the same one in the other language; in
    order of the alphabet, as sentences of the two languages have another order."""
    found = []
    for target, anchor, address in LINK.findall(BLOCK.sub("", path.read_text("utf-8"))):
        if address or target.startswith("https://"):
            found.append(address or target)
        else:
            found.append(place_of((path.parent / target).resolve() if target else path, anchor))
    return sorted(link for link in found if link != "README.md")


def test_each_is_the_translation_of_a_document() -> None:
    """None is left over, and none is missing."""
    assert [path.name for path in files("docs/ja/*")] == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_both_languages_say_the_same(name: str) -> None:
    """Headings, steps, rows, blocks of code, what stands between backticks, and links."""
    there, here = english_of(name), JAPANESE / name
    english, japanese = there.read_text("utf-8"), here.read_text("utf-8")
    assert levels(japanese) == levels(english)
    assert shape(japanese) == shape(english)
    assert blocks(japanese) == blocks(english)
    assert codes(japanese) == codes(english)
    assert links(here) == links(there)


def test_a_difference_is_noticed() -> None:
    """Of each kind."""
    document = "# One\n\n1. `make run`\n\n```sh\nmake run  # all\n```\n"
    assert blocks(document) == blocks(document.replace("# all", "# 全部")) != []
    assert blocks(document) != blocks(document.replace("run  #", "chat  #"))
    assert codes(document) == ["make run"]
    assert levels(document) == [1] != levels(document.replace("# One", "## One"))
    assert shape(document) == (1, 0)
