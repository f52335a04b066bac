"""What the conformance suite has shown of each provider, and the tables of ``docs/providers.md``
that say so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.bot.providers.subjects.all import SUBJECTS
from tests.project import ROOT

DOCUMENT = ROOT / "docs" / "providers.md"
BY_VENDOR = ("opening", "after")  # parameters that hold a vendor's name
DIGITS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
YES = "✓"


@dataclass(slots=True)
class Shown:
    """What the tests of one file have shown, by feature and vendor.

    Attributes:
        failed: tests that did not pass.
        lacks: what there is instead, where the vendor has no form for the feature.
        tests: those whose result is known.
    """

    seen: dict[str, set[str]] = field(default_factory=dict)
    failed: set[tuple[str, str]] = field(default_factory=set)
    lacks: dict[tuple[str, str], str] = field(default_factory=dict)
    tests: set[str] = field(default_factory=set)

    def take(self, item: pytest.Function, report: pytest.TestReport) -> None:
        """Take in how a test has ended."""
        feature = feature_of(item)
        for vendor in vendors_of(item) if feature else ():
            self.seen.setdefault(feature, set()).add(vendor)
            if report.failed:
                self.failed.add((feature, vendor))
            elif isinstance(report.longrepr, tuple):
                self.lacks[feature, vendor] = report.longrepr[2].removeprefix("Skipped: ")
        if report.when == "teardown":
            self.tests.add(item.nodeid)

    def table(self) -> str:
        """A row for each feature, a column for each vendor, and below it what there is instead."""
        notes: dict[str, int] = {}
        rows = []
        for feature, vendors in self.seen.items():
            cells = (
                self._cell(feature, vendor, notes) if vendor in vendors else ""
                for vendor in SUBJECTS
            )
            rows.append(f"| {feature} | {' | '.join(cells)} |")
        head = (
            f"| | {' | '.join(f'`{vendor}:`' for vendor in SUBJECTS)} |",
            f"|---|{':-:|' * len(SUBJECTS)}",
        )
        below = [
            f"{_raised(number)} {note[0].upper()}{note[1:]}.  " for note, number in notes.items()
        ]
        return "\n".join([*head, *rows, *(["", *below] if below else [])]) + "\n"

    def _cell(self, feature: str, vendor: str, notes: dict[str, int]) -> str:
        if (feature, vendor) in self.failed:
            return "fails"
        note = self.lacks.get((feature, vendor))
        return f"– {_raised(notes.setdefault(note, len(notes) + 1))}" if note else YES


RESULTS = pytest.StashKey[dict[str, Shown]]()


def results_of(config: pytest.Config, path: str) -> Shown:
    """What a file's tests have shown in this process."""
    return config.stash.setdefault(RESULTS, {}).setdefault(path, Shown())


def feature_of(item: pytest.Function) -> str:
    """What a test shows; a mark on one of its parameters stands before the test's own."""
    mark = item.get_closest_marker("shows")
    return str(mark.args[0]) if mark else ""


def vendors_of(item: pytest.Function) -> list[str]:
    """Whom a test is about."""
    given: Mapping[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    return [given[name] for name in BY_VENDOR if name in given]


def assert_shown_is_documented(request: pytest.FixtureRequest) -> None:
    """Compare the document's table with what the tests of this file have shown; skip where some
    were not asked for."""
    name = request.path.name
    here = [item for item in request.session.items if item.path.name == name]
    asked_for = {item.originalname for item in here if isinstance(item, pytest.Function)}
    if asked_for != {one for one in vars(request.module) if one.startswith("test_")}:
        pytest.skip("only a part of the suite was asked for")
    shown = results_of(request.config, name)
    elsewhere = [
        item.nodeid
        for item in here
        if item.get_closest_marker("shows") and item.nodeid not in shown.tests
    ]
    assert elsewhere == [], "run the whole file in one process: --dist=loadfile"
    assert_documented(request, shown.table())


def assert_documented(request: pytest.FixtureRequest, table: str) -> None:
    """Compare the document's table of a test file with what it should be; ``--write-tables`` writes
    it."""
    name = request.path.name
    document = DOCUMENT.read_text("utf-8")
    if request.config.getoption("write_tables"):
        DOCUMENT.write_text(
            document.replace(_framed(name, _table_in(document, name)), _framed(name, table)),
            "utf-8",
        )
    else:
        assert _table_in(document, name) == table, (
            "python -m tests.bot.providers.conformance.table writes it anew"
        )


def _table_in(document: str, name: str) -> str:
    before, after = _framed(name, "\0").split("\0")
    return document.partition(before)[2].partition(after)[0]


def _framed(name: str, table: str) -> str:
    return (
        f"<!-- made from {name} by python -m tests.bot.providers.conformance.table "
        f"-->\n\n{table}\n<!-- end -->\n"
    )


def _raised(number: int) -> str:
    return str(number).translate(DIGITS)
