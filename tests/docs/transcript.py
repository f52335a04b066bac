"""The lines of a conversation and what left for the platform, and their comparison with
docs/conversations.md and the files beside this one."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.project import ROOT

DOCUMENT = ROOT / "docs" / "conversations.md"
LEFT = ROOT / "tests" / "docs" / "left"
DATES = re.compile(r"([A-Z][a-z]{2}) \d+/\d+|\d+/\d+ \([月火水木金土日]\)")
TIMES = re.compile(r"\d{4}(?:-\d\d-\d\d|年\d+月\d+日) \d\d:\d\d(?: UTC)?|\d\d:\d\d UTC")
TOKENS = re.compile(r"[1-9][\d,]*(?= tokens)")
STATUS_LINE = f"{'':8}[Kaiwa "
# What differs each time in what leaves: ids, Slack's and LINE's too, and times.
IDS = re.compile(
    r"[0-9a-f]{32}|\b[0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?\b"
    r"|\b\d{10}\.\d{6}\b"
    r'|(?<="quoteToken": ")[^"]+|(?<="trigger_id": ")[^"]+|(?<="view_id": ")[^"]+'
    r'|(?<="hash": ")[^"]+'
)
MOMENTS = re.compile(r"\b\d{10}(?:\d{3})?\b")


class Transcript:
    """The lines of one conversation, as the document has them.

    Attributes:
        left: what left for the platform, in order.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.left: list[dict[str, Any]] = []

    def leaves(self, call: str, content: Any) -> None:
        """A request to the platform that people see."""
        self.left.append({call: content})

    def add_words(self, name: str, text: str) -> None:
        """Somebody's words, below their name; dates, times and tokens, which differ each day, are
        always the same."""
        text = undated(text)
        first, *more = text.splitlines()
        self.lines += [f"{name + ':':8}{first}", *(f"{'':8}{line}".rstrip() for line in more)]

    def happened(self, text: str) -> None:
        """What people see beside words, or do."""
        self.lines.append(f"{'':8}[{text}]")

    def status(self, text: str) -> None:
        """The status that Slack shows; one after another stand in one line."""
        if self.lines and self.lines[-1].startswith(STATUS_LINE):
            self.lines[-1] = f"{self.lines[-1][:-1]} → {text}]"
        else:
            self.lines.append(f"{STATUS_LINE}{text}]")


def undated(text: str) -> str:
    """A text with the same date, time and tokens each day."""
    text = DATES.sub(lambda found: "Wed 1/7" if found[1] else "1/7 (水)", TIMES.sub("18:30", text))
    return TOKENS.sub("500", text)


def numbered(text: str) -> str:
    """A text with ids numbered in the order in which they come, and without times."""
    numbers: dict[str, int] = {}
    text = IDS.sub(lambda found: f"#{numbers.setdefault(found[0], len(numbers) + 1)}", text)
    return MOMENTS.sub("0", text)


def compare(name: str, transcript: Transcript, *, write: bool) -> None:
    """Compare a transcript with the document's, and what left with the file of its name, or write
    them there."""
    left = json.dumps(transcript.left, ensure_ascii=False, indent=1, sort_keys=True)
    left = numbered(undated(left)) + "\n"
    file = LEFT / f"{name.replace(', ', '-').replace(' ', '_')}.json"
    document = DOCUMENT.read_text("utf-8")
    block = re.compile(rf"(<!-- {name} -->\n```text\n)(.*?)(```\n)", re.DOTALL)
    text = "\n".join(transcript.lines) + "\n"
    found = block.search(document)
    assert found is not None
    if write:
        file.write_text(left, "utf-8")
        DOCUMENT.write_text(block.sub(lambda found: found[1] + text + found[3], document), "utf-8")
    else:
        assert found[2] == text, "make transcripts writes it anew"
        assert file.read_text("utf-8") == left, "make transcripts writes it anew"
