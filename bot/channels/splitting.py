"""A text in pieces of a message's size, parted where a reader would pause."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from bot.channels.utf16 import fits, head

# Where a text may be split, best first: after a paragraph, a line, a sentence, a word.
SEAMS = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"[。．！？!?…]+[」』）)”’\"']*\s*|\.[)”’\"']*\s+"),
    re.compile(r"\s+|[、，]"),
)
WHOLE_URL = re.compile(r"(?<![a-z])[a-z][a-z0-9+.-]{0,30}://[^\s<>\"「」（）]+", re.IGNORECASE)
# Of a piece: a split that comes earlier leaves too short a message.
LEAST = 0.3

JOINER = "\u200d"
FLAG_LETTERS = range(0x1F1E6, 0x1F200)
SKIN_TONES = range(0x1F3FB, 0x1F400)
TAGS = range(0xE0020, 0xE0080)


def split(text: str, limit: int) -> Iterator[str]:
    """The text in pieces of at most ``limit`` UTF-16 code units; joined, they are the text."""
    while not fits(text, limit):
        end = piece_end(text, len(head(text, limit)))
        yield text[:end]
        text = text[end:]
    yield text


def piece_end(text: str, most: int, codes: Sequence[tuple[int, int]] = ()) -> int:
    """Where the first piece ends, ``most`` characters in at the latest, and not in code."""
    links = [match.span() for match in WHOLE_URL.finditer(text, 0, 2 * most)]
    for seam in SEAMS:
        ends = [match.end() for match in seam.finditer(text, 0, most)]
        for end in reversed(ends):
            if end <= most * LEAST:
                break
            if not (_inside(end, links) or _inside(end, codes) or _joined(text, end)):
                return end
    # A URL that would be cut goes whole into the next piece if it fits there.
    end = most
    for start, stop in links:
        if 0 < start < most < stop and stop - start <= most:
            end = start
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
