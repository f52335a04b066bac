"""A stand-in for Tavily's search endpoint, strict about its body and key.

Built from its documentation: https://docs.tavily.com/documentation/api-reference/endpoint/search
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.fakes.names import NAMES
from tests.fakes.sources import Failing

KEY = "tvly-sk-secret-tavily"
KNOWN = set(NAMES["tavily"]["request"])
MAX_QUERY = 400  # characters
MAX_COUNT = 20


class TavilyFake(Failing):
    """The service.

    Attributes:
        requests: the bodies of all requests.
        results: what is found.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a search."""
        if (request.method, request.path) != ("POST", "/search"):
            return web.Response(status=404)
        body = await request.json()
        self.requests.append(body)
        if failure := await self.failed(request):
            return failure
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return _error(401, "Unauthorized: missing or invalid API key.")
        if request.content_type != "application/json" or set(body) - KNOWN or not body.get("query"):
            return _error(422, "Invalid request.")
        if len(body["query"]) > MAX_QUERY or not 0 <= body.get("max_results", 5) <= MAX_COUNT:
            return _error(400, "Query is too long. Max query length is 400 characters.")
        found = self.results[: body.get("max_results", 5)]
        return web.json_response(
            {"query": body["query"], "results": found, "response_time": 1.2, "images": []}
        )


def _error(status: int, text: str) -> web.Response:
    return web.json_response({"detail": {"error": text}}, status=status)
