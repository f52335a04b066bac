"""Search of the web: what a provider does, and what it finds. Each provider is a file of its
own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from toolset.tool import ToolError
from toolset.web.json_values import entries
from toolset.web.text import line

MAX_RESULTS = 10
TITLE_CAP = 200  # characters
URL_CAP = 2000
SNIPPET_CAP = 500
BODY_CAP = 512 * 1024  # bytes

WRONG_KEY = "the search provider refuses the key; the operator has to look at it"
NO_QUOTA = "the search provider's limit is reached, try again later"
UNREADABLE = "API request failed: the answer has no search results"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page that was found.

    Attributes:
        date: when it was published or last changed, as the provider writes it; empty where unknown.
    """

    title: str
    url: str
    snippet: str
    date: str = ""


class SearchProvider(Protocol):
    """A service that searches the web.

    Attributes:
        name: for the answer, which names its source.
    """

    name: str

    async def search(self, query: str, count: int, language: str) -> list[SearchResult]:
        """At most ``count`` pages for a query, best first.

        Args:
            language: of the user, two letters; empty where unknown.

        Raises:
            ToolError: one text per kind of failure.
        """
        ...


def read_results(
    listed: object, snippet_field: str, date_field: str, count: int
) -> list[SearchResult]:
    """The results of a provider's list, bounded; an entry without an http address is left out.

    Raises:
        ToolError: it is no list.
    """
    if not isinstance(listed, list):
        raise ToolError(UNREADABLE)
    bounded = entries(listed[: 2 * MAX_RESULTS])
    found = [_result(entry, snippet_field, date_field) for entry in bounded]
    return list(filter(None, found))[:count]


def _result(entry: dict[str, Any], snippet_field: str, date_field: str) -> SearchResult | None:
    url = entry.get("url")
    if not isinstance(url, str) or len(url) > URL_CAP:
        return None
    if not url.startswith(("https://", "http://")):
        return None
    title = line(entry.get("title"), TITLE_CAP) or url[:TITLE_CAP]
    snippet = line(entry.get(snippet_field), SNIPPET_CAP)
    return SearchResult(title, url, snippet, line(entry.get(date_field), 10))
