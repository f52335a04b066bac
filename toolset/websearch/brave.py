"""Brave Search. https://api-dashboard.search.brave.com/app/documentation/web-search/get-started"""

from __future__ import annotations

import httpx
from pydantic import SecretStr

from toolset.tool import ToolError
from toolset.web.json_values import as_object
from toolset.web.source import Source
from toolset.websearch import BODY_CAP, NO_QUOTA, UNREADABLE, WRONG_KEY, SearchResult, read_results

PATH = "/res/v1/web/search"
REFUSALS = {401: WRONG_KEY, 403: WRONG_KEY, 402: NO_QUOTA, 429: NO_QUOTA}
JAPANESE = {
    "country": "JP",
    "search_lang": "jp",
}  # the service's own code; for others its default is all right


class BraveSearch:
    """A client of the service."""

    name = "Brave Search"

    def __init__(
        self, http: httpx.AsyncClient, base_url: str, key: SecretStr, timeout_s: float
    ) -> None:
        self._source = Source(http, base_url, timeout_s, BODY_CAP, REFUSALS)
        self._key = key

    async def search(self, query: str, count: int, language: str) -> list[SearchResult]:
        """At most ``count`` pages.

        Raises:
            ToolError: one text per kind of failure.
        """
        params = {
            "q": query,
            "count": str(count),
            "text_decorations": "false",
            "result_filter": "web",
        }
        if language == "ja":
            params |= JAPANESE
        headers = {
            "X-Subscription-Token": self._key.get_secret_value(),
            "Accept": "application/json",
        }
        answer = await self._source.get_json(PATH, params, headers)
        if not isinstance(answer, dict):
            raise ToolError(UNREADABLE)
        found = answer.get("web")  # absent where nothing was found
        if found is None and "query" in answer:
            return []
        return read_results(as_object(found).get("results"), "description", "page_age", count)
