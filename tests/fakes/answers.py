"""Failures that every stand-in for a source of files can show, and an aiohttp handler that gives them."""

from __future__ import annotations

import asyncio

from aiohttp import web

FAILURES = ("status 429", "status 500", "stalled", "dripping", "too large", "not JSON", "wrong shape", "redirect")
TOO_LARGE = 9 * 1024 * 1024


class Failing:
    """What goes wrong, for so many requests or for good; nothing by default."""

    def __init__(self) -> None:
        self._failure = ""
        self._times = 0

    def fail(self, failure: str, times: int = -1) -> None:
        """Fail in one of the ways of ``FAILURES``."""
        assert failure in FAILURES
        self._failure, self._times = failure, times

    async def answer(self, request: web.Request) -> web.StreamResponse | None:
        """The failure that is due; None where all is well."""
        if not self._times:
            return None
        self._times -= 1
        failure = self._failure
        if failure.startswith("status"):
            return web.Response(status=int(failure.split()[1]), text="no")
        if failure == "redirect":
            return web.Response(status=302, headers={"Location": "/elsewhere"})
        if failure == "stalled":
            await asyncio.Event().wait()
        if failure == "dripping":
            return await _dripping(request)
        bodies = {"too large": b" " * TOO_LARGE, "not JSON": b"<html>maintenance</html>", "wrong shape": b'"text"'}
        return web.Response(body=bodies[failure], content_type="application/json")


async def _dripping(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.1)
