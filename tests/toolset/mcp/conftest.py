"""A hostile server's script, and a real server over HTTP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.fakes.mcp_server import make
from tests.toolset.mcp.servers import Hostile


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    """A server that does what a test has it say."""
    return Hostile(tmp_path / "script.json")


class OnlyWithToken:
    """Refuses requests without the right header."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (b"authorization", b"Bearer right") not in scope["headers"]:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._app(scope, receive, send)


@pytest.fixture
async def address() -> AsyncIterator[str]:
    """The address of a real server that wants ``Authorization: Bearer right``."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        app = OnlyWithToken(make().streamable_http_app())
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1))
        serving = asyncio.create_task(server.serve([sock]))
        try:
            while not server.started:  # noqa: ASYNC110 -- it has no event for that
                await asyncio.sleep(0.01)
            yield f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            await serving
