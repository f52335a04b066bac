"""The text of a reply as LINE shows it: Markdown as plain text, split where a reader would
pause."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from bot.channels.utf16 import fits, head, units

LIMIT = 5_000  # UTF-16 code units of one message
MAX_MESSAGES = 3  # then the reader is asked whether to go on

# Where a text may be split, best first: after a paragraph, a line, a sentence, a word.
SEAMS = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"[。．！？!?…]+[」』）)”’\"']*\s*|\.[)”’\"']*\s+"),
    re.compile(r"\s+|[、，]"),
)
WHOLE_URL = re.compile(r"(?<![a-z])[a-z][a-z0-9+.-]{0,30}://[^\s<>\"「」（）]+", re.IGNORECASE)
LEAST = 0.3  # of a message: a split that comes earlier leaves too short a message

JOINER = "\u200d"
FLAG_LETTERS = range(0x1F1E6, 0x1F200)
SKIN_TONES = range(0x1F3FB, 0x1F400)
TAGS = range(0xE0020, 0xE0080)

# Noncharacters, which no text contains: they enclose the number of a piece that stays as it is.
OPEN, CLOSE = "\ufdd0", "\ufdd1"
HELD = re.compile(f"{OPEN}(\\d+){CLOSE}")

# Every pattern takes linear time: possessive quantifiers keep it from trying a long run again from
# each of its characters, or in more than one way. A model can be made to write anything
# (tests/growth.py).
FENCE = re.compile(
    r"^[ \t]*+(`{3,}+|~{3,}+)[^\n`]*+\n(.*?)(?:^[ \t]*+\1[`~]*+[ \t]*+$|\Z)",
    re.MULTILINE | re.DOTALL,
)
TICKS = re.compile(r"`+|\n\n")
URL = r"(?:(?<![a-z])[a-z][a-z0-9+.-]{0,30}://|www\.|mailto:|tel:)"
LINK = re.compile(
    rf"!?\[([^\[\]\n]*+)\]\(\s*+<?({URL}(?:[^\s()<>]|\([^\s()<>]*\))++)>?(?:\s++(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*+\)",
    re.IGNORECASE,
)
ANGLED = re.compile(rf"<({URL}[^\s<>]+)>", re.IGNORECASE)
BARE = re.compile(rf"{URL}[^\s<>\"`、。，「」『』（）【】\ufdd0\ufdd1]+", re.IGNORECASE)
AFTER_URL = ".,;:!?*_~'\""

HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]++(?=.)")
RULE = re.compile(r"^ {0,3}(?:(?:-[ \t]*+){3,}|(?:\*[ \t]*+){3,}|(?:_[ \t]*+){3,}|={3,})$")
QUOTE = re.compile(r"^ {0,3}(?:>[ \t]?)+")
BULLET = re.compile(r"^([ \t]*+)[-*+][ \t]++(?=\S)")
COLUMN = re.compile(r"[ \t]*+:?-++:?[ \t]*+")
CELL = re.compile(r"(?<!\\)\|")

MARKS = re.compile(r"\*+|_+|~+|\n")
PAIRED = ("*", "**", "***", "_", "__", "___", "~~")
FORMULA = re.compile(
    r"[0-9A-Za-z\\]"
)  # before it no star opens: 2**3 stays. Japanese has no space before the star.
WORD = re.compile(r"[\w\\]")
ESCAPE = re.compile(r"\\")
ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|>~])")
BREAK = re.compile(r"<br[ \t]*+/?>", re.IGNORECASE)
GAPS = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


def plain_text(markdown: str) -> str:
    """The text of Markdown, without its marks."""
    held = _Held()
    text = markdown.replace("\r\n", "\n").replace(OPEN, "").replace(CLOSE, "")
    text = FENCE.sub(lambda match: held.put(match[2].removesuffix("\n")), text)
    text = _without_code(text, held)
    for _ in range(2):  # an image may be the label of a link
        text = LINK.sub(lambda match: _link(match, held), text)
    text = ANGLED.sub(lambda match: held.put(match[1]), text)
    text = BARE.sub(lambda match: _bare(match[0], held), text)
    text = _unmarked("\n".join(_lines(text.split("\n"))))
    text = GAPS.sub("\n\n", BREAK.sub("\n", ESCAPED.sub(r"\1", text)))
    return held.back(text).strip("\n").rstrip()


class _Held:
    """Code and URLs, replaced by placeholders while marks are removed."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def put(self, piece: str) -> str:
        """The placeholder of a piece."""
        self._pieces.append(piece)
        return f"{OPEN}{len(self._pieces) - 1}{CLOSE}"

    def back(self, text: str) -> str:
        """The text with its pieces in place of the placeholders."""
        while HELD.search(text):  # a URL may contain code
            text = HELD.sub(lambda match: self._pieces[int(match[1])], text)
        return text


def _link(match: re.Match[str], held: _Held) -> str:
    """Label and URL, with a space where LINE would take the next character for a part of the
    URL."""
    label, url = match[1].strip(), match[2]
    after = match.string[match.end() : match.end() + 1]
    space = "" if not after or after.isspace() or after in AFTER_URL else " "
    before = f"{label} " if label and label != url.partition("://")[2] and label != url else ""
    return before + held.put(ESCAPED.sub(r"\1", url)) + space


def _bare(url: str, held: _Held) -> str:
    end = len(url.rstrip(AFTER_URL))
    unopened = url.count(")") - url.count("(")
    while unopened > 0 and url[end - 1] == ")":
        unopened -= 1
        end -= 1
        while url[end - 1] in AFTER_URL:
            end -= 1
    return held.put(ESCAPED.sub(r"\1", url[:end])) + url[end:]


def _without_code(text: str, held: _Held) -> str:
    """The text with placeholders for code: whatever is between two equal runs of backticks in one
    paragraph."""
    ticks = list(TICKS.finditer(text))
    closing: dict[int, re.Match[str]] = {}  # by the position of the opening run
    ahead: dict[str, re.Match[str]] = {}
    for tick in reversed(ticks):
        if tick[0] == "\n\n":
            ahead.clear()
            continue
        if tick[0] in ahead:
            closing[tick.start()] = ahead[tick[0]]
        ahead[tick[0]] = tick
    kept: list[str] = []
    end = 0
    for tick in ticks:
        start = tick.start()
        if start < end or start not in closing or text[start - 1 : start] == "\\":
            continue
        code = text[tick.end() : closing[start].start()]
        kept += (text[end:start], held.put(code.strip(" ").replace("\n", " ")))
        end = closing[start].end()
    return "".join((*kept, text[end:]))


def _lines(lines: Iterable[str]) -> Iterator[str]:
    rest = deque(lines)
    while rest:
        line = rest.popleft()
        if table := take_table(line, rest):
            head, _, *rows = table
            yield from (" | ".join(cells_of(row)) for row in (head, *rows))
        elif not RULE.match(line):
            yield _line(line)


def take_table(head: str, below: deque[str]) -> list[str]:
    """The lines of the table that begins with this one, taken from those below; empty where none
    begins."""
    if "|" not in head or not below or not _is_table_rule(below[0]):
        return []
    lines = [head, below.popleft()]
    while below and "|" in below[0]:
        lines.append(below.popleft())
    return lines


def cells_of(line: str) -> list[str]:
    """The cells of a table's row."""
    return [cell.strip() for cell in CELL.split(line.strip().removeprefix("|").removesuffix("|"))]


def _is_table_rule(line: str) -> bool:
    """Whether the line is the rule between a table's head and its rows."""
    columns = line.strip(" \t").removeprefix("|").removesuffix("|").split("|")
    return all(map(COLUMN.fullmatch, columns))


def _line(line: str) -> str:
    line = QUOTE.sub("", line).rstrip()
    if heading := HEADING.match(line):
        words = line[heading.end() :]
        unclosed = words.rstrip("#")
        return unclosed.rstrip() if unclosed.endswith((" ", "\t")) else words
    return BULLET.sub(r"\1・", line)


def _unmarked(text: str) -> str:
    """The text without the marks around words of one line; a mark pairs with the nearest one like
    it."""
    opened: dict[str, list[re.Match[str]]] = {mark: [] for mark in PAIRED}
    gone: list[re.Match[str]] = []
    for mark in MARKS.finditer(text):
        if mark[0] == "\n":
            for openings in opened.values():
                openings.clear()
        elif (same := opened.get(mark[0])) and _may_close(mark, text):
            gone += (same.pop(), mark)
        elif same is not None and _may_open(mark, text):
            same.append(mark)
    kept: list[str] = []
    end = 0
    for mark in sorted(gone, key=re.Match.start):
        kept.append(text[end : mark.start()])
        end = mark.end()
    return "".join((*kept, text[end:]))


def _may_open(mark: re.Match[str], text: str) -> bool:
    before, after = _beside(mark, text)
    refused = {"*": FORMULA, "_": WORD, "~": ESCAPE}[mark[0][0]]
    return after != "" and not after.isspace() and not refused.match(before)


def _may_close(mark: re.Match[str], text: str) -> bool:
    before, after = _beside(mark, text)
    is_inside = mark[0][0] == "_" and after.isalnum()
    return before != "" and not before.isspace() and before != "\\" and not is_inside


def _beside(mark: re.Match[str], text: str) -> tuple[str, str]:
    """The characters on both sides; empty if there is none."""
    start, end = mark.span()
    return text[max(start - 1, 0) : start], text[end : end + 1]


def split_messages(
    text: str, more: str, limit: int = LIMIT, *, goes_on: bool = False, most: int = MAX_MESSAGES
) -> list[str]:
    """The text as messages, none of them empty.

    Args:
        more: ends the last message if the text is longer than the messages.
        goes_on: the text has been cut before.
        most: number of messages.
    """
    pieces = list(islice(pieces_of(text, limit), most + 1))
    if not pieces or (len(pieces) <= most and not goes_on):
        return pieces
    *whole, last = pieces[:most]
    end = f"\n\n{more}"
    return [*whole, next(split(last, limit - units(end))).rstrip() + end]


def pieces_of(text: str, limit: int = LIMIT) -> Iterator[str]:
    """The text in pieces of a message's size, without empty ones."""
    return filter(None, map(str.strip, split(text, limit)))


def shortened(text: str, most: int) -> str:
    """The text in at most so many UTF-16 code units, with a mark where it was cut."""
    return text if fits(text, most) else f"{head(text, most - 1)}…"


def split(text: str, limit: int) -> Iterator[str]:
    """The text in pieces of at most ``limit`` UTF-16 code units; joined, they are the text."""
    while not fits(text, limit):
        end = _end(text, len(head(text, limit)))
        yield text[:end]
        text = text[end:]
    yield text


def _end(text: str, most: int) -> int:
    """Where the first piece ends, ``most`` characters in at the latest."""
    links = [
        match.span() for match in WHOLE_URL.finditer(text, 0, most + LIMIT) if match.start() < most
    ]
    for seam in SEAMS:
        ends = [match.end() for match in seam.finditer(text, 0, most) if match.end() > most * LEAST]
        for end in reversed(ends):
            if not _inside(end, links) and not _joined(text, end):
                return end
    # A URL that would be cut goes whole into the next piece if it fits there.
    end = next(
        (start for start, stop in links if 0 < start < most < stop and stop - start <= most), most
    )
    while end > 1 and _joined(text, end):
        end -= 1
    return end if end > 1 else most


def _inside(position: int, links: Sequence[tuple[int, int]]) -> bool:
    before = bisect_left(links, (position,)) - 1
    return before >= 0 and position < links[before][1]


def _joined(text: str, position: int) -> bool:
    """Whether the characters on both sides are shown as one (a grapheme cluster)."""
    before, after = text[position - 1], text[position]
    code = ord(after)
    if JOINER in (before, after) or unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return True
    if code in SKIN_TONES or code in TAGS or (before, after) == ("\r", "\n"):
        return True
    return code in FLAG_LETTERS and _flag_letters_before(text, position) % 2 == 1


def _flag_letters_before(text: str, position: int) -> int:
    first = position
    while first > 0 and ord(text[first - 1]) in FLAG_LETTERS:
        first -= 1
    return position - first
