"""The lines of a conversation and what was sent to the platform, and their comparison with
docs/conversations.md and the files of tests/docs/sent."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.project import ROOT

DOCUMENT = ROOT / "docs" / "conversations.md"
SENT = ROOT / "tests" / "docs" / "sent"
DATES = re.compile(r"([A-Z][a-z]{2}) \d+/\d+|\d+/\d+ \([月火水木金土日]\)")
TIMES = re.compile(r"\d{4}(?:-\d\d-\d\d|年\d+月\d+日) \d\d:\d\d(?: UTC)?|\d\d:\d\d UTC")
TOKENS = re.compile(r"[1-9][\d,]*(?= tokens)")
STATUS_LINE = f"{'':8}[Kaiwa "
# What differs each time in a request: ids, Slack's and LINE's too, and times.
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
        sent: the requests to the platform that show people something, in order.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.sent: list[dict[str, Any]] = []

    def add_request(self, call: str, content: Any) -> None:
        """A request to the platform that shows people something."""
        self.sent.append({call: content})

    def add_words(self, name: str, text: str) -> None:
        """Somebody's words, below their name; dates, times and tokens, which differ each day, are
        always the same."""
        text = without_dates(text)
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


def without_dates(text: str) -> str:
    """A text with the same date, time and tokens each day."""
    text = DATES.sub(lambda found: "Wed 1/7" if found[1] else "1/7 (水)", TIMES.sub("18:30", text))
    return TOKENS.sub("500", text)


def with_numbered_ids(text: str) -> str:
    """A text with ids numbered in the order in which they come, and without times."""
    numbers: dict[str, int] = {}
    text = IDS.sub(lambda found: f"#{numbers.setdefault(found[0], len(numbers) + 1)}", text)
    return MOMENTS.sub("0", text)


def compare(name: str, transcript: Transcript, *, write: bool) -> None:
    """Compare a transcript with the document's, and its requests with the file of its name, or
    write them there."""
    sent = json.dumps(transcript.sent, ensure_ascii=False, indent=1, sort_keys=True)
    sent = with_numbered_ids(without_dates(sent)) + "\n"
    file = SENT / f"{name.replace(', ', '-').replace(' ', '_')}.json"
    document = DOCUMENT.read_text("utf-8")
    block = re.compile(rf"(<!-- {name} -->\n```text\n)(.*?)(```\n)", re.DOTALL)
    text = "\n".join(transcript.lines) + "\n"
    found = block.search(document)
    assert found is not None
    if write:
        file.write_text(sent, "utf-8")
        DOCUMENT.write_text(block.sub(lambda found: found[1] + text + found[3], document), "utf-8")
    else:
        assert found[2] == text, "make transcripts writes it anew"
        assert file.read_text("utf-8") == sent, "make transcripts writes it anew"
