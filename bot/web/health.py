"""Routes for operators: health, metrics and the number of dead letters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot.errors import StoreUnavailable
from bot.store import DeadLetter, Store
from bot.telemetry import Metrics

EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"
NO_STORE = {"Cache-Control": "no-store"}


def health_routes(
    ready: Callable[[], Awaitable[str]], refuses: Callable[[], str], away: Mapping[str, str]
) -> list[Route]:
    """``/healthz`` and ``/readyz``.

    Args:
        ready: returns the reason why the process is not ready; empty means ready.
        refuses: returns why messages were refused within the last minute, which does not change the
            status: another process could take no more of them.
        away: the platforms that have not taken our secrets since the start, with the cause. They
            do not change the status either.
    """

    async def healthz(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(_request: Request) -> Response:
        missing = await ready()
        state: dict[str, object] = {
            "ready": not missing,
            "reason": missing or None,
            "refuses": refuses() or None,
        }
        if away:
            state["away"] = dict(away)
        return JSONResponse(state, status_code=503 if missing else 200)

    return [Route("/healthz", healthz), Route("/readyz", readyz)]


def metrics_route(metrics: Metrics, store: Store) -> Route:
    """``/metrics``: the metrics of this process, and gauges of the store."""

    async def exposition(_request: Request) -> Response:
        try:
            await _measure(store, metrics)
        except StoreUnavailable as error:
            return PlainTextResponse(f"# {error}\n", status_code=503)
        return Response(metrics.exposition(), media_type=EXPOSITION)

    return Route("/metrics", exposition)


def dead_letters_route(
    count_letters: Callable[[], Awaitable[int]],
    read_newest: Callable[[int], Awaitable[Sequence[DeadLetter]]],
) -> Route:
    """``/dead-letters``: their ``count``, and the time of the ``newest``, milliseconds since the
    epoch, 0 for none."""

    async def undelivered(_request: Request) -> Response:
        try:
            count = await count_letters()
            newest = await read_newest(1) if count else ()
        except StoreUnavailable:
            return JSONResponse({"error": "the store does not answer"}, 503, NO_STORE)
        return JSONResponse(
            {"count": count, "newest": newest[0].at if newest else 0}, headers=NO_STORE
        )

    return Route("/dead-letters", undelivered)


async def _measure(store: Store, metrics: Metrics) -> None:
    depths, memory = await store.depths(), await store.memory.measure()
    metrics.queue_depth.set(depths.due)
    metrics.oldest_due_seconds.set(await store.oldest_due_s())
    metrics.dead_letters.set(depths.dead_letters)
    metrics.memory_ratio.set(memory.ratio)
