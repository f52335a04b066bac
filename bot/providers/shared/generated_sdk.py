"""What the SDKs of Anthropic and OpenAI, which one generator has written, have in common: a client
over httpx2, which reads only the beginning of an error, and the names of their exceptions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
import httpx2
from msgspec import DecodeError

from bot.errors import ModelError
from bot.http import ERROR_CAP, KEEP_ALIVE_S, beginning
from bot.providers.retry_policy import CONNECT_TIMEOUT_S
from bot.providers.shared.failures import Failures, root_of

UNREADABLE = (DecodeError, UnicodeError, json.JSONDecodeError)
OUTAGES = (aiohttp.ClientError, httpx2.HTTPError, httpx2.StreamError, OSError)


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


@contextmanager
def translating_sdk(
    sdk: Any, failures: Failures, refusal: Callable[[Any], ModelError]
) -> Iterator[None]:
    """Translate exceptions raised inside; no text of a translation holds the key.

    Args:
        sdk: the package.
        refusal: translates an error that the service answered with.

    Raises:
        ModelError: for each exception of the SDK, its transport and the network.
    """
    try:
        yield
    except sdk.APIStatusError as error:
        # The error is not chained: the service may quote the key.
        raise refusal(error) from None
    except (sdk.APIResponseValidationError, *UNREADABLE) as error:
        raise failures.unreadable() from error
    # The SDK's other exceptions have one base.
    except (*sdk.APIError.__bases__, *OUTAGES) as error:
        root = root_of(error)
        if isinstance(root, TimeoutError):
            raise failures.timed_out() from error
        raise failures.unreachable(root) from error
