"""Parser of an RSS or Atom feed that anybody may have written.

    size → UTF-8 → well-formed, no DOCTYPE → what is read of it, its texts cut → feedparser → plain
    texts

feedparser takes minutes for some hostile texts (an author of half a million letters), so it gets a
reduced copy. It gets bytes in a file object: a text, or plain bytes, it would open as an address or
a file.
"""

from __future__ import annotations

import html
import io
import re
from calendar import timegm
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from toolset.tool import ToolError
from toolset.web.text import one_line, web_address

SIZE_CAP = 512 * 1024  # bytes
ELEMENTS_CAP = 20_000
KEPT_CAP = 2000  # elements
DEPTH_CAP = 50
ENTRIES_CAP = 100
TEXT_CAP = 4000  # characters of an element
TITLE_CAP = 200  # characters
SUMMARY_CAP = 200
LINK_CAP = 500
ENTRIES = frozenset({"item", "entry"})
TEXTS = frozenset(
    {"title", "link", "description", "summary", "pubDate", "date", "published", "updated", "source"}
)
KEPT = ENTRIES | TEXTS | {"rss", "channel", "feed", "RDF"}
ATTRIBUTES = ("version", "rel", "href")
TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class Headline:
    """One entry of a feed; ``published`` is None and ``summary`` empty where unknown."""

    title: str
    link: str
    source: str
    published: datetime | None
    summary: str


def read(body: bytes) -> list[Headline]:
    """The entries of a feed that have a title and a web address, in its order. Blocks for tenths of
    a second.

    Raises:
        ToolError: it is no feed.
    """
    import feedparser

    parsed = feedparser.parse(
        io.BytesIO(_reduced(body)),
        response_headers={"content-type": "application/rss+xml; charset=utf-8"},
        sanitize_html=False,  # no HTML is kept
        resolve_relative_uris=False,
    )
    if not parsed.get("version"):
        raise ToolError("no news available: the answer is not a feed")
    name = plain(parsed.feed.get("title"), TITLE_CAP)
    return [
        headline for entry in parsed.entries[:ENTRIES_CAP] if (headline := _headline(entry, name))
    ]


def plain(value: object, cap: int) -> str:
    """A text without tags, entities, control characters and repeated spaces."""
    if not isinstance(value, str):
        return ""
    text = TAG.sub(" ", value[: 10 * cap])
    text = TAG.sub(" ", html.unescape(text))  # what was escaped twice
    return one_line(text)[:cap].strip()


def _reduced(body: bytes) -> bytes:
    """The feed without what is not read, its texts cut.

    Raises:
        ToolError: it is not well-formed UTF-8, or above a limit.
    """
    if len(body) > SIZE_CAP:
        raise ToolError("no news available: the feed is too large")
    try:
        return _Reducer().reduce(body.decode("utf-8-sig").encode())
    except (UnicodeDecodeError, expat.ExpatError, _OverLimitError) as error:
        raise ToolError("no news available: the answer is not a feed") from error


class _OverLimitError(Exception):
    """The document is not as a feed is."""


class _Reducer:
    """Copies the elements of ``KEPT`` while they are parsed; of elements in a text the text
    alone."""

    def __init__(self) -> None:
        self._written: list[str] = []
        self._inside: Literal["", "text", "left out"] = ""
        self._inner = 0  # elements open in a text or in what is left out
        self._room = 0  # characters that a text may still have
        self._depth = self._elements = self._stored = self._entries = 0

    def reduce(self, content: bytes) -> bytes:
        """Copy the document.

        Raises:
            expat.ExpatError: it is not well-formed.
            _OverLimitError: it has a DOCTYPE, or too many elements.
        """
        parser = expat.ParserCreate("utf-8", " ")
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.Parse(content, True)
        return "".join(self._written).encode()

    def _doctype(self, *_: object) -> None:
        raise _OverLimitError

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition(" ")
        self._depth += 1
        self._elements += 1
        if self._elements > ELEMENTS_CAP or self._depth > DEPTH_CAP or len(namespace) > LINK_CAP:
            raise _OverLimitError
        if self._inside:
            self._inner += 1
            return
        self._entries += local in ENTRIES
        if local not in KEPT or self._entries > ENTRIES_CAP:
            self._inside = "left out"
            return
        self._stored += 1
        if self._stored > KEPT_CAP:
            raise _OverLimitError
        present = {"xmlns": namespace} | {
            key: attributes[key] for key in ATTRIBUTES if key in attributes
        }
        pairs = "".join(
            f" {key}={quoteattr(value[: LINK_CAP + 1])}" for key, value in present.items() if value
        )
        self._written.append(f"<{local}{pairs}>")
        if local in TEXTS:
            self._inside, self._room = "text", TEXT_CAP

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._inner:
            self._inner -= 1
            return
        if self._inside != "left out":
            self._written.append(f"</{name.rpartition(' ')[2]}>")
        self._inside = ""

    def _characters(self, data: str) -> None:
        if self._inside == "text":
            self._written.append(escape(data[: self._room]))
            self._room = max(0, self._room - len(data))


def _headline(entry: Any, name: str) -> Headline | None:
    title, link = plain(entry.get("title"), TITLE_CAP), web_address(entry.get("link"), LINK_CAP)
    if not title or not link:
        return None
    source = plain((entry.get("source") or {}).get("title"), TITLE_CAP) or name
    published = _moment(entry.get("published_parsed") or dict.get(entry, "updated_parsed"))
    return Headline(title, link, source, published, plain(entry.get("summary"), SUMMARY_CAP))


def _moment(value: Any) -> datetime | None:
    """feedparser's time, which is UTC."""
    try:
        return datetime.fromtimestamp(timegm(value), UTC) if value else None
    except (OverflowError, ValueError):  # a year beyond 9999
        return None
