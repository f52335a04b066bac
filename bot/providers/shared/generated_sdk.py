"""What the SDKs of Anthropic and OpenAI, which one generator has written, have in common: a client
over httpx2, which reads only the beginning of an error, a request, and the names of their
exceptions."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

import httpx2

from bot.errors import ModelError
from bot.http import ERROR_CAP, KEEP_ALIVE_S, beginning
from bot.providers.retry_policy import CONNECT_TIMEOUT_S
from bot.providers.shared.failures import Failures
from bot.providers.shared.request import Body, length_of
from bot.providers.shared.streaming import Opened


class _Beginning(httpx2.AsyncByteStream):
    def __init__(self, pieces: AsyncIterable[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in beginning(self._pieces, ERROR_CAP):
            yield piece

    async def aclose(self) -> None:
        if isinstance(self._pieces, httpx2.AsyncByteStream):
            await self._pieces.aclose()


async def _cap_error(response: httpx2.Response) -> None:
    """A response hook: an error is read up to ``ERROR_CAP`` bytes and never expanded."""
    if response.status_code >= 400 and isinstance(response.stream, httpx2.AsyncByteStream):
        response.headers.pop("Content-Encoding", None)
        response.stream = _Beginning(response.stream)


def client_options(kind: type[httpx2.AsyncClient]) -> dict[str, Any]:
    """The options of an SDK's client: no attempts of its own, and no limit on connections, as the
    worker limits turns.

    Args:
        kind: the SDK's client over aiohttp; the pool of httpx2 becomes slow beyond a hundred
            requests in flight.
    """
    http = kind(
        # aiohttp reads 0 as no limit.
        limits=httpx2.Limits(max_connections=0, keepalive_expiry=KEEP_ALIVE_S),
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_cap_error]},
    )
    return {
        "max_retries": 0,
        "timeout": httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S),
        "default_headers": {"accept-encoding": "identity"},
        "http_client": http,
    }


class SdkFailures(Failures):
    """The failures of a model behind such an SDK."""

    def failed(self, error: BaseException) -> ModelError:
        """By the first cause: their transport reports many outages as time-outs."""
        return Failures.failed(
            self, error if isinstance(error, self.unreadable) else root_of(error)
        )


def root_of(error: BaseException) -> BaseException:
    """The first cause of an exception."""
    while isinstance(error.__cause__, Exception):
        error = error.__cause__
    return error


def outages_of(sdk: Any) -> tuple[type[Exception], ...]:
    """The exceptions of an SDK, which have one base, of its transport and of the network."""
    return (*sdk.APIError.__bases__, httpx2.HTTPError, httpx2.StreamError, *Failures.outages)


async def post(client: Any, sdk: Any, path: str, body: bytes | Body, **options: Any) -> Opened:
    """Send a request through the SDK, which judges the status and reads no event."""
    stream = await client.post(
        path,
        content=body,
        options={"headers": length_of(body), **options},
        cast_to=object,
        stream=True,
        stream_cls=sdk.AsyncStream[object],
    )
    return stream, stream.response.aiter_bytes()
