"""The floor for a webhook: Starlette, one HMAC, one XADD. Run as a process: python -m
benchmarks.bare REDIS_URL PORT"""

from __future__ import annotations

import base64
import hashlib
import hmac
import sys

import uvicorn
from redis.asyncio import BlockingConnectionPool, Redis
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

SECRET = b"secret"


def application(url: str) -> Starlette:
    """One route."""
    redis = Redis.from_pool(BlockingConnectionPool.from_url(url, max_connections=10))

    async def webhook(request: Request) -> Response:
        body = await request.body()
        digest = base64.b64encode(hmac.new(SECRET, body, hashlib.sha256).digest()).decode()
        if not hmac.compare_digest(digest, request.headers["x-line-signature"]):
            return Response(status_code=400)
        await redis.xadd("bare", {"body": body}, maxlen=10_000)
        return Response()

    return Starlette(routes=[Route("/webhooks/line", webhook, methods=["POST"])])


if __name__ == "__main__":
    uvicorn.run(application(sys.argv[1]), port=int(sys.argv[2]), log_level="error")
