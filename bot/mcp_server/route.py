"""``POST /mcp``: the tools over HTTP, for programs that have the console's token."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from bot.settings import Settings
from bot.telemetry import Metrics
from toolset.tool_map import ToolMap

if TYPE_CHECKING:
    from bot.mcp_server.server import ToolServer

PATH = "/mcp"


def mcp_route(tools: ToolMap, settings: Settings, metrics: Metrics, guard: Middleware) -> Route:
    """The route; 404 where there is no token.

    Args:
        guard: checks the token, and where a request comes from.
    """
    if not settings.console_token.get_secret_value():
        return Route(PATH, _NotFound())
    return Route(PATH, _Endpoint(tools, settings, metrics), methods=["POST"], middleware=[guard])


class _Endpoint:
    """Loads the SDK for the first request, in a thread: it takes most of a second."""

    def __init__(self, tools: ToolMap, settings: Settings, metrics: Metrics) -> None:
        self._parts = tools, settings, metrics
        self._loading = asyncio.Lock()
        self._server: ToolServer | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._loading:
            if self._server is None:
                self._server = await asyncio.to_thread(self._load)
        await self._server.answer(scope, receive, send)

    def _load(self) -> ToolServer:
        from bot.mcp_server.server import ToolServer

        return ToolServer(*self._parts)


class _NotFound:
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("Not Found", 404)(scope, receive, send)
