"""A stand-in for Brave Search's web endpoint, strict about parameters and key.

Built from its documentation:
https://api-dashboard.search.brave.com/app/documentation/web-search/query and …/responses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from tests.fakes.failures import Failing
from tests.fakes.serving import serving

KEY = "BSA-sk-secret-brave"
KNOWN = {
    "q",
    "count",
    "offset",
    "country",
    "search_lang",
    "safesearch",
    "text_decorations",
    "result_filter",
}
LANGUAGES = {"en", "jp", "de", "fr", "zh-hans"}  # some of those that it takes; Japanese is jp
MAX_QUERY = 400  # characters
MAX_WORDS = 50
MAX_COUNT = 20


class BraveFake(Failing):
    """The service.

    Attributes:
        base_url: what BRAVE_BASE_URL must be.
        requests: the parameters of all requests.
        results: what is found.
    """

    def __init__(self) -> None:
        super().__init__()
        self.base_url = ""
        self.requests: list[dict[str, str]] = []
        self.results: list[dict[str, Any]] = []

    async def search(self, request: web.Request) -> web.StreamResponse:
        """GET /res/v1/web/search."""
        query = dict(request.query)
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


@contextmanager
def brave_fake() -> Iterator[BraveFake]:
    """A running fake."""
    fake = BraveFake()
    application = web.Application()
    application.router.add_get("/res/v1/web/search", fake.search)
    with serving(application) as fake.base_url:
        yield fake
