"""What the documents tell people to type exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from bot.cli.main import cli
from tests.project import ROOT, files, name_of

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *files("docs/*.md")]
SHELL_BLOCK = re.compile(r"^```(?:sh|bash|shell|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ANY_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
SLASH = "/kaiwa"  # what people type in Slack
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)


def commands(document: str) -> Iterator[list[str]]:
    """The words of every ``make`` and ``kaiwa`` command in shell blocks and between backticks."""
    lines = [line for block in SHELL_BLOCK.findall(document) for line in block.splitlines()]
    for line in lines + INLINE.findall(ANY_BLOCK.sub("", document)):
        for command in re.split(r"&&|\|\||[|;]", line.removeprefix("$ ")):
            words = (
                shlex.split(command, comments=True)
                if command.count("'") % 2 == 0
                else command.split()
            )
            while words and re.match(r"[A-Z_]+=", words[0]):
                words.pop(0)
            if words and words[0] != SLASH and Path(words[0]).name in ("make", "kaiwa"):
                yield [Path(words[0]).name, *words[1:]]


@cache
def targets() -> list[str]:
    """What the Makefile has."""
    return TARGET.findall((ROOT / "Makefile").read_text("utf-8"))


@cache
def command_line() -> Any:
    """What ``kaiwa`` has."""
    return get_command(cli)


def unknown_target(words: list[str]) -> str:
    """The first target of a ``make`` command that the Makefile does not have."""
    return next((word for word in words if "=" not in word and word not in targets()), "")


def unknown_word(words: list[str]) -> str:
    """The first subcommand or option of a ``kaiwa`` command that the command line does not have."""
    command = command_line()
    for word in words:
        if word.startswith("-"):
            options = {name for parameter in command.params for name in parameter.opts} | {"--help"}
            if word.partition("=")[0] not in options:
                return word
        elif isinstance(command, TyperGroup):
            if word not in command.commands:
                return word
            command = command.commands[word]
    return ""


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_its_commands_exist(path: Path) -> None:
    """Every command a document gives is a target of the Makefile or a subcommand of kaiwa."""
    assert path.is_file(), f"{name_of(path)} is missing"
    given = list(commands(path.read_text("utf-8")))
    checks = {"make": unknown_target, "kaiwa": unknown_word}
    assert [words for words in given if checks[words[0]](words[1:])] == []


def test_the_readme_gives_the_two_commands() -> None:
    """A newcomer finds how to start the page and the terminal."""
    given = list(commands((ROOT / "README.md").read_text("utf-8")))
    assert ["make", "run"] in given
    assert ["make", "chat"] in given


def test_a_wrong_command_is_noticed() -> None:
    """The check reads blocks and backticks alike, and knows subcommands and options."""
    block = "```sh\n$ PORT=1 make nonsense # make run\n```\n"
    document = block + "Use `kaiwa nonsense`, `kaiwa chat --nonsense` or `.venv/bin/kaiwa run`."
    given = list(commands(document))
    assert given == [
        ["make", "nonsense"],
        ["kaiwa", "nonsense"],
        ["kaiwa", "chat", "--nonsense"],
        ["kaiwa", "run"],
    ]
    assert unknown_target(given[0][1:]) == "nonsense"
    assert [unknown_word(words[1:]) for words in given[1:]] == ["nonsense", "--nonsense", ""]


LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(document: str) -> set[str]:
    """What a link may name of a document: its headings, as GitHub spells them."""
    found = set[str]()
    for heading in HEADING.findall(document):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        again = (f"{name}-{number}" for number in count(1))
        found.add(next(one for one in chain([name], again) if one not in found))
    return found


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=name_of)
def test_its_links_lead_somewhere(path: Path) -> None:
    """Every link within the repository leads to a file, and to a heading of it."""
    lost = []
    for target, anchor in LINK.findall(ANY_BLOCK.sub("", path.read_text("utf-8"))):
        file = path.parent / target if target else path
        if not file.is_file() or (anchor and anchor not in anchors(file.read_text("utf-8"))):
            lost.append(f"{target}#{anchor}")
    assert lost == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_its_tests_exist(path: Path) -> None:
    """A test that a document names as evidence has not been moved away."""
    named = re.findall(r"`(tests/[\w/.-]+)`", path.read_text("utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []
