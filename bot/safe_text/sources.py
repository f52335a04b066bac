"""The sources of an answer that the vendor's own search has found, as links below it.

All of it comes from outside: a title or query is one visible line without marks, an address is one
of HTTP without a character that ends a Markdown link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import quote, urlsplit

from bot.safe_text.names import safe_name
from bot.transcript import Grounding, Source

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
