"""``/dead-letters``: tells the page, and with it the operator, how much could not be delivered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.errors import StoreUnavailable
from bot.store import DeadLetter

NO_STORE = {"Cache-Control": "no-store"}


class Letters(Protocol):
    """What is asked of ``bot.store.DeadLetters``."""

    async def count(self) -> int: ...

    async def read(self, limit: int) -> Sequence[DeadLetter]: ...


def undelivered_route(letters: Letters) -> Route:
    """``count`` of all letters, and when the ``newest`` was put there: milliseconds since the epoch, 0 for never."""

    async def undelivered(_request: Request) -> Response:
        try:
            count = await letters.count()
            newest = await letters.read(1) if count else ()
        except StoreUnavailable:
            return JSONResponse({"error": "the store does not answer"}, 503, NO_STORE)
        return JSONResponse({"count": count, "newest": newest[0].at if newest else 0}, headers=NO_STORE)

    return Route("/dead-letters", undelivered)
