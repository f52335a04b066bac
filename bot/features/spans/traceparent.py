"""Reads of each request which trace it belongs to (W3C Trace Context), for who observes turns."""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from bot.telemetry.observed import INCOMING

# Of version 00, with ids that are not zero.
TRACEPARENT = re.compile(rb"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


class TraceparentReader:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for name, value in scope.get("headers", ()):
            if name == b"traceparent" and TRACEPARENT.fullmatch(value):
                INCOMING.set(value.decode())
        await self._app(scope, receive, send)
