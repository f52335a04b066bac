"""What a request says of its own trace."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from bot.features.spans.traceparent import TraceparentReader
from bot.telemetry.observed import INCOMING

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
WHOLE = f"00-{TRACE}-{SPAN}-01"


async def show(_request: Request) -> PlainTextResponse:
    return PlainTextResponse(INCOMING.get())


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        (WHOLE, WHOLE),
        ("", ""),
        (f"00-{'0' * 32}-{SPAN}-01", ""),
        (f"00-{TRACE}-{'0' * 16}-01", ""),
        (f"ff-{TRACE}-{SPAN}-01", ""),
        (WHOLE.upper(), ""),
        (f"{WHOLE}-more", ""),
        (f"{WHOLE}\t<script>", ""),
        ("0" * 10_000, ""),
    ],
)
def test_only_a_whole_one_is_taken(said: str, taken: str) -> None:
    """Of version 00; anything else is none."""
    app = Starlette(routes=[Route("/", show)], middleware=[Middleware(TraceparentReader)])
    client = TestClient(app)
    assert client.get("/", headers={"traceparent": said}).text == taken
