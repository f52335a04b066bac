"""A stand-in for Brave Search's web endpoint, strict about parameters and key.

Built from its documentation:
https://api-dashboard.search.brave.com/app/documentation/web-search/query and …/responses.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.fakes.names import NAMES
from tests.fakes.sources import Failing

KEY = "BSA-sk-secret-brave"
KNOWN = set(NAMES["brave"]["query"])
LANGUAGES = {"en", "jp", "de", "fr", "zh-hans"}  # some of those that it takes; Japanese is jp
MAX_QUERY = 400  # characters
MAX_WORDS = 50
MAX_COUNT = 20


class BraveFake(Failing):
    """The service.

    Attributes:
        requests: the parameters of all requests.
        results: what is found.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[dict[str, str]] = []
        self.results: list[dict[str, Any]] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a search."""
        query = dict(request.query)
        if (request.method, request.path) != ("GET", "/res/v1/web/search"):
            return web.Response(status=404)
        self.requests.append(query)
        if failure := await self.failed(request):
            return failure
        if request.headers.get("X-Subscription-Token") != KEY:
            return _error(
                401 if "X-Subscription-Token" in request.headers else 422,
                "SUBSCRIPTION_TOKEN_INVALID",
            )
        text, count = query.get("q", ""), query.get("count", "20")
        is_query = 0 < len(text) <= MAX_QUERY and len(text.split()) <= MAX_WORDS
        is_count = count.isdecimal() and 0 < int(count) <= MAX_COUNT
        if (
            not (is_query and is_count)
            or set(query) - KNOWN
            or query.get("search_lang", "en") not in LANGUAGES
        ):
            return _error(422, "VALIDATION")
        answer: dict[str, Any] = {"type": "search", "query": {"original": text}}
        if self.results:
            answer["web"] = {"type": "search", "results": self.results[: int(count)]}
        return web.json_response(answer)


def _error(status: int, code: str) -> web.Response:
    error = {"id": "1", "status": status, "code": code, "detail": "sk-secret"}
    return web.json_response({"type": "ErrorResponse", "error": error}, status=status)
