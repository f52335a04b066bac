"""Takes links out of an answer, before any channel makes links of its addresses, whole or while it
streams."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from os.path import commonprefix
from urllib.parse import quote, urlsplit

from bot.safe_text.addresses import (
    HARD,
    SIGNS,
    TOKEN,
    forms_of,
    is_address,
    is_link,
    key_of,
    name_before,
    name_end,
    trimmed,
)
from bot.safe_text.glyphs import UNSEEN, revealed, safe_name
from bot.transcript import Grounding, Source

LONGEST_LABEL, LONGEST_TARGET = 300, 4_000  # characters of a link in Markdown
# characters that are looked through again with each piece; of more, each time they have doubled
HELD = 256
_LABEL = rf"(?:[^\[\]\n]){{0,{LONGEST_LABEL}}}+"
# In the address of a link in Markdown each opening bracket has its closing one, as deep as parsers
# of CommonMark go. Channels take this too: they make no link of what was not looked at here.
TARGET = r"[^\s()<>\[\]]"
for _ in range(32):
    TARGET = rf"(?:[^\s()<>\[\]]|\({TARGET}*+\))"
LINK = re.compile(
    rf"(?P<open>!?\[)(?P<label>{_LABEL})\]\(\s*+<?(?P<target>{TARGET}++)>?"
    r"(?:\s++(?:\"[^\"\n]*+\"|'[^'\n]*+'))?\s*+\)"
)
ANGLED = re.compile(
    rf"(?P<open><)(?P<target>[^\s<>|]++)(?:\|(?P<label>[^<>\n]{{0,{LONGEST_LABEL}}}+))?>"
)
# A link that may still become one of these.
UNFINISHED = re.compile(
    rf"!?\[{_LABEL}(?:\](?:\((?:[^()\n\[\]]|\({TARGET}*+\)|\(){{0,{LONGEST_TARGET}}}+\)?+)?)?+\Z"
    rf"|<[^\s<>|]{{0,{LONGEST_TARGET}}}+(?:\|[^<>\n]{{0,{LONGEST_LABEL}}}+)?\Z"
)
OPENING = re.compile(r"!?\[|<")
PIECE = re.compile(rf"{LINK.pattern}|(?P<angled><)|{TOKEN.pattern}", re.IGNORECASE)
BOUNDARY = re.compile(rf"[\s{HARD}]")
PRINTED = "".join(map(chr, range(ord("!"), ord("~") + 1))) + UNSEEN
LONGEST_RUN = 256  # letters before a link that are looked at
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|[/\\]{2}", re.IGNORECASE)
# Behind an address: marks that end here, then what no channel takes for a part of the address.
CLOSING = re.compile(r"[*_~)}\]'\"`»”’]*+")
ENDED = re.compile(rf"[.,;:!?]*+(?:\Z|[\s{HARD}])")

Allows = Callable[[str], bool]


class LinkFilter:
    """Shows a text's links that are allowed; in place of another one stand its words and a remark.

    Args:
        allows: whether a link may be shown, by its key; asked for each, in the order of the text,
            and for those in a link's words before its own.
        withheld: the remark.
        stops: of a stream, nothing is shown from the first link on that may not be, and what comes
            before as it is: whether links are withheld at all, only the stream's end tells.
    """

    def __init__(self, allows: Allows, withheld: str, *, stops: bool = False) -> None:
        self._allows = allows
        self._withheld = withheld
        self._pieces: list[str] = []
        self._length = 0
        self._looked_at = 0  # at this length the pieces are looked through
        self._before = ""  # the last letter that was shown
        self._stops = stops
        self._is_stopped = False

    def text(self, text: str) -> str:
        """A whole text."""
        text = revealed(text)
        if any(sign in text for sign in SIGNS) and PIECE.search(text):
            return _Scan(self._allows, self._withheld, text).run()
        return text

    def feed(self, piece: str) -> str:
        """As much as can be shown after one more piece: a link is held until it is whole."""
        if self._is_stopped:
            return ""
        self._pieces.append(piece)
        self._length += len(piece)
        if self._length < self._looked_at:
            return ""
        text = revealed("".join(self._pieces))
        end = _settled(text)
        shown = self._shown(text[:end])
        self._pieces = [text[end:]]
        self._length = len(text) - end
        self._looked_at = 2 * self._length if self._length > HELD else 0
        return shown

    def end(self) -> str:
        """The rest."""
        rest = "" if self._is_stopped else self._shown("".join(self._pieces))
        self._pieces, self._length, self._looked_at, self._before = [], 0, 0, ""
        return rest

    def _shown(self, text: str) -> str:
        """The text, filtered as it stands behind what was shown before it."""
        shown = self.text(self._before + text)[len(self._before) :]
        if self._stops:
            self._is_stopped = shown.count(self._withheld) > text.count(self._withheld)
            shown = commonprefix((shown, text)) if self._is_stopped else text  # noqa: RUF071 -- of texts
        self._before = text[-1:] or self._before
        return shown


class _Scan:
    """One pass through a text."""

    def __init__(self, allows: Allows, withheld: str, text: str) -> None:
        self._allows = allows
        self._withheld = withheld
        self._text = text
        self._out: list[str] = []
        self._run = ""  # the last letters of what is shown
        self._at = 0

    def run(self) -> str:
        while (found := PIECE.search(self._text, self._at)) is not None:
            self._copy(found.start())
            if found["open"]:
                self._link(found)
            elif found["angled"]:
                if angled := ANGLED.match(self._text, self._at):
                    self._link(angled)
                else:
                    self._copy(found.end())
            elif is_link(found):
                self._token(found)
            else:
                self._copy(name_end(found))
        self._copy(len(self._text))
        return "".join(self._out)

    def _copy(self, end: int) -> None:
        self._put(self._text[self._at : end])
        self._at = end

    def _put(self, words: str) -> None:
        self._out.append(words)
        self._run = (self._run + words[-LONGEST_RUN:])[-LONGEST_RUN:]

    def _put_apart(self, words: str, link: str) -> None:
        """Show a link, apart from what stands before it where its words would end an address.

        Args:
            words: those that people see.
            link: with all that belongs to it.
        """
        run = self._run.split()[-1] if self._run.strip() and not self._run[-1].isspace() else ""
        joined = TOKEN.finditer(f"{run}{words[:LONGEST_LABEL]}")
        if any(token.start() < len(run) < token.end() and is_link(token) for token in joined):
            self._put(" ")
        self._put(link)

    def _link(self, found: re.Match[str]) -> None:
        opening, target = found["open"], found["target"]
        if not _is_target(target):
            self._copy(found.start() + len(opening))
            return
        # Its words, without addresses that may not be shown.
        words = _Scan(self._allows, self._withheld, found["label"] or "").run()
        if not self._allows(key_of(target)):
            words = words.replace(self._withheld, "").strip()
            self._put_apart(words, f"{words} {self._withheld}" if words else self._withheld)
        elif opening != "<":
            self._put_apart(words, f"{opening}{words}]({target})")
        else:
            self._put_apart(words, f"<{target}|{words}>" if words else f"<{target}>")
        self._at = found.end()

    def _token(self, found: re.Match[str]) -> None:
        forms, name = list(dict.fromkeys(filter(None, forms_of(found[0])))), name_before(found)
        form = next((form for form in forms if self._allows(key_of(name + form))), None)
        if form is None:
            start = found.start() + found[0].index(forms[-1])
            self._copy(start)
            self._put(self._withheld)
            self._at = start + len(forms[-1])
            return
        before = self._text[found.start() - 1 : found.start()]
        if found.lastgroup == "bare" and (before in (".", "@") or before.isalnum()):
            self._put(" ")  # else what stands before could become a part of the host's name
        self._copy(found.start() + found[0].index(form) + len(form))
        closing = CLOSING.match(self._text, self._at)
        end = closing.end() if closing else self._at
        if not ENDED.match(self._text, end):
            self._copy(end)
            self._put(" ")  # else what follows could become a part of the address


def _is_target(target: str) -> bool:
    return bool(SCHEME.match(target)) or is_address(target) or is_address(trimmed(target))


def _settled(text: str) -> int:
    """The end of what cannot become a part of a link any more, whatever follows."""
    boundaries = [0, *(match.end() for match in BOUNDARY.finditer(text))]
    end = len(text.rstrip(PRINTED))
    if any(sign in text[boundaries[-1] :] for sign in SIGNS):
        end = min(end, boundaries[-1])
    for opening in reversed(list(OPENING.finditer(text))):
        link = LINK.match(text, opening.start()) or ANGLED.match(text, opening.start())
        is_cut = link is not None and link.start() < end < link.end()
        if is_cut or UNFINISHED.match(text, opening.start()):
            end = min(end, boundaries[bisect_right(boundaries, opening.start()) - 1])
    return end


MOST_SOURCES = 5
MOST_QUERIES = 3
LONGEST_URL = 1_000
LONGEST_QUERY = 200  # characters
SEARCH = "https://www.google.com/search?q="
URL = re.compile(r"https?://[!-~]+")  # ASCII without spaces
ENDS_LINK = str.maketrans({mark: f"%{ord(mark):02X}" for mark in "()<>[]\"'\\`*|"})


def source_lists(grounding: Grounding, sentence: Callable[[str], str]) -> Iterator[str]:
    """A list of the pages, and a list of links to the same searches; nothing where the vendor has
    not searched.

    Args:
        sentence: of the catalogue, by its key.
    """
    pages = [line for source in grounding.sources if (line := _page(source))]
    searches = [
        _link(query[:LONGEST_QUERY], SEARCH + quote(query[:LONGEST_QUERY], safe=""))
        for query in grounding.queries
    ]
    if pages:
        yield _list(sentence("reply.sources"), pages, MOST_SOURCES)
    if searches:
        yield _list(sentence("reply.searches"), searches, MOST_QUERIES)


def _list(heading: str, lines: Sequence[str], most: int) -> str:
    return "\n".join((heading, *(f"- {line}" for line in list(dict.fromkeys(lines))[:most])))


def _page(source: Source) -> str:
    """A link to a page; empty for an address that cannot be one."""
    if len(source.url) > LONGEST_URL or not URL.fullmatch(source.url):
        return ""
    try:
        parts = urlsplit(source.url)
    except ValueError:
        return ""
    is_plain = parts.hostname and "@" not in parts.netloc  # a user's name could pass for the host
    return _link(source.title or str(parts.hostname), source.url) if is_plain else ""


def _link(label: str, url: str) -> str:
    return f"[{safe_name(label) or urlsplit(url).hostname}]({url.translate(ENDS_LINK)})"
