"""The ways in which a service on the web fails, whichever it is: for stand-ins made with
aiohttp."""

from __future__ import annotations

import asyncio

from aiohttp import web

BODIES = {
    "too large": b" " * (9 * 1024 * 1024),
    "not JSON": b"<html>maintenance</html>",
    "no object": b'"text"',
    "wrong shape": b'{"results": 1, "web": {"results": "x"}}',
}
FAILURES = ("status 429", "status 500", "redirect", "stalled", "dripping", "closed", *BODIES)


class Failing:
    """What goes wrong, for so many requests or for good; nothing by default."""

    def __init__(self) -> None:
        self._failure = ""
        self._times = 0

    def fail(self, failure: str, times: int = -1) -> None:
        """Fail in one of the ways of ``FAILURES``, or with any status."""
        assert failure in FAILURES or failure.removeprefix("status ").isdecimal()
        self._failure, self._times = failure, times

    async def failed(self, request: web.Request) -> web.StreamResponse | None:
        """The failure that is due; None where all is well."""
        if not self._times:
            return None
        self._times -= 1
        failure = self._failure
        if failure.startswith("status"):
            return web.json_response({"error": "sk-secret"}, status=int(failure.split()[1]))
        if failure == "redirect":
            return web.Response(status=302, headers={"Location": "/elsewhere"})
        if failure in BODIES:
            return web.Response(body=BODIES[failure], content_type="application/json")
        return await _broken_off(request, failure)


async def _broken_off(request: web.Request, failure: str) -> web.StreamResponse:
    """No answer, none that ends, or a closed connection."""
    response = web.StreamResponse()
    if failure == "stalled":
        await asyncio.Event().wait()
    await response.prepare(request)
    while failure == "dripping":
        await response.write(b" ")
        await asyncio.sleep(0.1)
    if request.transport:
        request.transport.close()
    return response
