"""Markdown as LINE can show it: plain text, its lines as they were written, every address whole."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

# Noncharacters, so that no text holds them: they stand around the number of a piece that is not to be touched.
OPEN, CLOSE = "\ufdd0", "\ufdd1"
HELD = re.compile(f"{OPEN}(\\d+){CLOSE}")

FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<![`\\])(`+)(?!`)((?:(?!\n\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
URL = r"(?:[a-z][a-z0-9+.-]*://|www\.|mailto:|tel:)"
LINK = re.compile(
    rf"!?\[([^\[\]\n]*)\]\(\s*<?({URL}(?:[^\s()<>]|\([^\s()<>]*\))+)>?(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)",
    re.IGNORECASE,
)
ANGLED = re.compile(rf"<({URL}[^\s<>]+)>", re.IGNORECASE)
BARE = re.compile(rf"{URL}[^\s<>\"`、。，「」『』（）【】\ufdd0\ufdd1]+", re.IGNORECASE)
AFTER_URL = ".,;:!?*_~'\""

HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
RULE = re.compile(r"^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|={3,})$")
QUOTE = re.compile(r"^ {0,3}(?:>[ \t]?)+")
BULLET = re.compile(r"^([ \t]*)[-*+][ \t]+(?=\S)")
TABLE_RULE = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
CELL = re.compile(r"(?<!\\)\|")

# The opening mark must not follow a letter or digit of a formula: 2**3 and 4**5 stay. Japanese needs no such space.
STARS = re.compile(r"(?<![0-9A-Za-z*\\])(\*{1,3})(?=[^\s*])([^\n]{1,500}?)(?<=[^\s*\\])\1(?!\*)")
LINES_BELOW = re.compile(r"(?<![\w\\])(_{1,3})(?=[^\s_])([^\n]{1,500}?)(?<=[^\s_\\])\1(?!\w)")
STRUCK = re.compile(r"(?<![~\\])(~~)(?=[^\s~])([^\n]{1,500}?)(?<=[^\s~\\])~~(?!~)")
ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|>~])")
BREAK = re.compile(r"<br[ \t]*/?>", re.IGNORECASE)
GAPS = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


def plain(markdown: str) -> str:
    """The text without its marks."""
    held = _Held()
    text = markdown.replace("\r\n", "\n").replace(OPEN, "").replace(CLOSE, "")
    text = FENCE.sub(lambda match: held.put(match[2].removesuffix("\n")), text)
    text = CODE.sub(lambda match: held.put(match[2].strip(" ").replace("\n", " ")), text)
    for _ in range(2):  # an image may be the words of a link
        text = LINK.sub(lambda match: _link(match, held), text)
    text = ANGLED.sub(lambda match: held.put(match[1]), text)
    text = BARE.sub(lambda match: _bare(match[0], held), text)
    text = "\n".join(_lines(text.split("\n")))
    for marks in (STARS, LINES_BELOW, STRUCK):
        text = _unmarked(marks, text)
    text = GAPS.sub("\n\n", BREAK.sub("\n", ESCAPED.sub(r"\1", text)))
    return held.back(text).strip("\n").rstrip()


class _Held:
    """Code and addresses, kept out of the way while marks are removed."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def put(self, piece: str) -> str:
        """What stands for the piece until it comes back."""
        self._pieces.append(piece)
        return f"{OPEN}{len(self._pieces) - 1}{CLOSE}"

    def back(self, text: str) -> str:
        """The text with its pieces."""
        while HELD.search(text):  # an address may hold code
            text = HELD.sub(lambda match: self._pieces[int(match[1])], text)
        return text


def _link(match: re.Match[str], held: _Held) -> str:
    """Words and address; a space behind it, where LINE would take what follows for a part of it."""
    label, url = match[1].strip(), match[2]
    after = match.string[match.end() : match.end() + 1]
    space = "" if not after or after.isspace() or after in AFTER_URL else " "
    before = f"{label} " if label and label != url.partition("://")[2] and label != url else ""
    return before + held.put(ESCAPED.sub(r"\1", url)) + space


def _bare(url: str, held: _Held) -> str:
    whole = url.rstrip(AFTER_URL)
    while whole.endswith(")") and whole.count(")") > whole.count("("):
        whole = whole[:-1].rstrip(AFTER_URL)
    return held.put(ESCAPED.sub(r"\1", whole)) + url[len(whole) :]


def _lines(lines: Iterable[str]) -> Iterator[str]:
    rest = deque(lines)
    while rest:
        line = rest.popleft()
        if "|" in line and rest and "-" in rest[0] and TABLE_RULE.match(rest[0]):
            rest.popleft()
            yield _row(line)
            while rest and "|" in rest[0]:
                yield _row(rest.popleft())
        elif not RULE.match(line):
            yield _line(line)


def _row(line: str) -> str:
    cells = CELL.split(line.strip().removeprefix("|").removesuffix("|"))
    return " | ".join(cell.strip() for cell in cells)


def _line(line: str) -> str:
    line = QUOTE.sub("", line).rstrip()
    if heading := HEADING.match(line):
        return heading[1]
    return BULLET.sub(r"\1・", line)


def _unmarked(marks: re.Pattern[str], text: str) -> str:
    while (fewer := marks.sub(r"\2", text)) != text:
        text = fewer
    return text
