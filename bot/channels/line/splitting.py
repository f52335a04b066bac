"""One text in as few messages as LINE takes, parted where a reader would pause."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice

from bot.channels.utf16 import fits, head, units

LIMIT = 5_000  # UTF-16 code units of one message
BUBBLES = 3  # more are a wall: the reader is asked whether to go on

# Where a text may be parted, best first: after a paragraph, a line, a sentence, a word.
SEAMS = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"[。．！？!?…]+[」』）)”’\"']*\s*|\.[)”’\"']*\s+"),
    re.compile(r"\s+|[、，]"),
)
URL = re.compile(r"(?<![a-z])[a-z][a-z0-9+.-]{0,30}://[^\s<>\"「」（）]+", re.IGNORECASE)
LEAST = 0.3  # of a message: a seam that comes earlier leaves too little

JOINER = "\u200d"
FLAG_LETTERS = range(0x1F1E6, 0x1F200)
SKIN_TONES = range(0x1F3FB, 0x1F400)
TAGS = range(0xE0020, 0xE0080)


def bubbles(text: str, more: str, limit: int = LIMIT, *, goes_on: bool = False) -> list[str]:
    """The text as messages, none of them empty.

    Args:
        more: ends the last bubble where the text goes on beyond it.
        goes_on: the text does so in any case.
    """
    pieces = list(islice(filter(None, map(str.strip, split(text, limit))), BUBBLES + 1))
    if not pieces or (len(pieces) <= BUBBLES and not goes_on):
        return pieces
    *whole, last = pieces[:BUBBLES]
    end = f"\n\n{more}"
    return [*whole, next(split(last, limit - units(end))).rstrip() + end]


def split(text: str, limit: int) -> Iterator[str]:
    """The text in pieces of at most ``limit`` UTF-16 code units; joined, they are the text."""
    while not fits(text, limit):
        end = _end(text, len(head(text, limit)))
        yield text[:end]
        text = text[end:]
    yield text


def _end(text: str, most: int) -> int:
    """Where the first piece ends, ``most`` characters in at the latest."""
    links = [match.span() for match in URL.finditer(text, 0, most + LIMIT) if match.start() < most]
    for seam in SEAMS:
        ends = [match.end() for match in seam.finditer(text, 0, most) if match.end() > most * LEAST]
        for end in reversed(ends):
            if not _inside(end, links) and not _joined(text, end):
                return end
    # An address that would be cut goes whole into the next piece, where it fits into one.
    end = next((start for start, stop in links if 0 < start < most < stop and stop - start <= most), most)
    while end > 1 and _joined(text, end):
        end -= 1
    return end if end > 1 else most


def _inside(place: int, links: Sequence[tuple[int, int]]) -> bool:
    before = bisect_left(links, (place,)) - 1
    return before >= 0 and place < links[before][1]


def _joined(text: str, place: int) -> bool:
    """Whether the characters on both sides are one for the reader's eye."""
    before, after = text[place - 1], text[place]
    code = ord(after)
    if JOINER in (before, after) or unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return True
    if code in SKIN_TONES or code in TAGS or (before, after) == ("\r", "\n"):
        return True
    return code in FLAG_LETTERS and _flag_letters_before(text, place) % 2 == 1


def _flag_letters_before(text: str, place: int) -> int:
    first = place
    while first > 0 and ord(text[first - 1]) in FLAG_LETTERS:
        first -= 1
    return place - first
