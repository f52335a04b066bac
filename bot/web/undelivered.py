"""``/dead-letters``: the number of dead letters, for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.errors import StoreUnavailable
from bot.store import DeadLetter

NO_STORE = {"Cache-Control": "no-store"}


class DeadLetterReader(Protocol):
    """The part of ``bot.store.DeadLetters`` that the page reads."""

    async def count(self) -> int: ...

    async def read(self, limit: int) -> Sequence[DeadLetter]: ...


def undelivered_route(dead_letters: DeadLetterReader) -> Route:
    """``count`` of all dead letters, and the time of the ``newest``: milliseconds since the epoch, 0 for none."""

    async def undelivered(_request: Request) -> Response:
        try:
            count = await dead_letters.count()
            newest = await dead_letters.read(1) if count else ()
        except StoreUnavailable:
            return JSONResponse({"error": "the store does not answer"}, 503, NO_STORE)
        return JSONResponse({"count": count, "newest": newest[0].at if newest else 0}, headers=NO_STORE)

    return Route("/dead-letters", undelivered)
