"""The lines of a conversation, and their comparison with docs/conversations.md."""

from __future__ import annotations

import re

from tests.project import ROOT

DOCUMENT = ROOT / "docs" / "conversations.md"
DATES = re.compile(r"([A-Z][a-z]{2}) \d+/\d+|\d+/\d+ \([月火水木金土日]\)")
TIMES = re.compile(r"\d{4}(?:-\d\d-\d\d|年\d+月\d+日) \d\d:\d\d(?: UTC)?|\d\d:\d\d UTC")
TOKENS = re.compile(r"[1-9][\d,]*(?= tokens)")
STATUS_LINE = f"{'':8}[Kaiwa "


class Transcript:
    """The lines of one conversation, as the document has them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add_words(self, name: str, text: str) -> None:
        """Somebody's words, below their name; dates, times and tokens, which differ each day, are
        always the same."""
        text = DATES.sub(
            lambda found: "Wed 1/7" if found[1] else "1/7 (水)", TIMES.sub("18:30", text)
        )
        text = TOKENS.sub("500", text)
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


def compare(name: str, transcript: Transcript, *, write: bool) -> None:
    """Compare a transcript with the document's, or write it there."""
    document = DOCUMENT.read_text("utf-8")
    block = re.compile(rf"(<!-- {name} -->\n```text\n)(.*?)(```\n)", re.DOTALL)
    text = "\n".join(transcript.lines) + "\n"
    found = block.search(document)
    assert found is not None
    if write:
        DOCUMENT.write_text(block.sub(lambda found: found[1] + text + found[3], document), "utf-8")
    else:
        assert found[2] == text, "make transcripts writes it anew"
