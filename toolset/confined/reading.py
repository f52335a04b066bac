"""What stands in a workspace: its files, their text, and where a text occurs."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass

from toolset.confined.paths import name_of_file, names_of
from toolset.confined.tree import Entry, opened, opened_file, plainly, walk
from toolset.confined.workspace import FILE_CAP
from toolset.tool import ToolError

TEXT_CAP = 32 * 1024  # bytes handed out at once
MOST_LISTED = 300
MOST_MATCHES = 100
LINE_CAP = 300  # characters of a line shown around a match

TOO_LARGE = f"larger than {FILE_CAP // 1024} KiB"
NO_TEXT = "not a text file (UTF-8)"


@dataclass(frozen=True, slots=True)
class Match:
    """A line that holds the text; lines count from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Matches:
    """What a search found.

    Attributes:
        skipped: files that hold no text, are too large or may not be read.
        more: whether there are more matches than are told.
    """

    found: list[Match]
    skipped: int
    more: bool


def lines_of(folder: int, path: str) -> list[str]:
    """The lines of a text file.

    Raises:
        ToolError: there is no such file, or it is no text.
    """
    within, name = name_of_file(path)
    with plainly(path), opened(folder, within) as parent:
        text = _text(parent, name)
    if text is None:
        raise ToolError(f"{NO_TEXT}, or {TOO_LARGE}: {path}")
    return _lines(text)


def listed(folder: int, path: str) -> tuple[list[Entry], bool]:
    """All below a folder, and whether that is not all.

    Raises:
        ToolError: there is no such folder.
    """
    names = names_of(path)
    entries: list[Entry] = []
    with plainly(path), opened(folder, names) as top, closing(walk(top, names)) as found:
        for entry in found:
            if len(entries) == MOST_LISTED:
                return entries, True
            entries.append(entry)
    return entries, False


def search(folder: int, path: str, text: str, ignore_case: bool) -> Matches:
    """The lines below a folder that hold a text. No patterns: matching those may take for ever.

    Raises:
        ToolError: there is no such folder.
    """
    names = names_of(path)
    wanted = text.casefold() if ignore_case else text
    matches: list[Match] = []
    skipped = 0
    with plainly(path), opened(folder, names) as top, closing(walk(top, names)) as entries:
        for entry in entries:
            if entry.kind == "folder":
                continue
            content = _text_of(entry)
            if content is None:
                skipped += 1
                continue
            for number, line in enumerate(_lines(content), 1):
                if wanted in (line.casefold() if ignore_case else line):
                    if len(matches) == MOST_MATCHES:
                        return Matches(matches, skipped, more=True)
                    matches.append(Match(entry.path, number, line[:LINE_CAP]))
    return Matches(matches, skipped, more=False)


def capped(text: str, cap: int = TEXT_CAP) -> str:
    """Text of at most so many bytes, with a word where that is not all of it."""
    data = text.encode()
    dropped = len(data) - cap
    if dropped <= 0:
        return text
    return f"{data[:cap].decode(errors='ignore')}[truncated: {dropped} bytes dropped, refine your query]"


def _text_of(entry: Entry) -> str | None:
    try:
        return _text(entry.parent, entry.names[-1])
    except OSError:  # a link, a pipe, gone meanwhile
        return None


def _text(parent: int, name: str) -> str | None:
    """None where it is no text, or too large."""
    with opened_file(parent, name) as file:
        data = _bytes(file)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if len(data) > FILE_CAP or "\0" in text else text


def _bytes(file: int) -> bytes:
    """One byte more than may be read shows that there is more."""
    with os.fdopen(os.dup(file), "rb") as reader:
        return reader.read(FILE_CAP + 1)


def _lines(text: str) -> list[str]:
    """As other programs count them: by line feeds alone."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
