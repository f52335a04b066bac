"""Tavily. https://docs.tavily.com/documentation/api-reference/endpoint/search

Its search is a POST, though it only reads.
"""

from __future__ import annotations

import httpx
from pydantic import SecretStr

from toolset.tool import ToolError
from toolset.web.source import Source
from toolset.websearch import BODY_CAP, NO_QUOTA, UNREADABLE, WRONG_KEY, SearchResult, read_results

PATH = "/search"
REFUSALS = {401: WRONG_KEY, 403: WRONG_KEY, 429: NO_QUOTA, 432: NO_QUOTA, 433: NO_QUOTA}


class TavilySearch:
    """A client of the service."""

    name = "Tavily"

    def __init__(
        self, http: httpx.AsyncClient, base_url: str, key: SecretStr, timeout_s: float
    ) -> None:
        self._source = Source(http, base_url, timeout_s, BODY_CAP, REFUSALS)
        self._key = key

    async def search(self, query: str, count: int, language: str) -> list[SearchResult]:
        """At most ``count`` pages; the service finds out the language itself.

        Raises:
            ToolError: one text per kind of failure.
        """
        body = {"query": query, "max_results": count, "search_depth": "basic"}
        headers = {"Authorization": f"Bearer {self._key.get_secret_value()}"}
        answer = await self._source.post_json(PATH, body, headers)
        if not isinstance(answer, dict):
            raise ToolError(UNREADABLE)
        return read_results(answer.get("results"), "content", "published_date", count)
