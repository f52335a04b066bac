"""A server with an address: a client whose answers are bounded, each and in their number.

The SDK limits one event of a stream, but neither a whole answer nor how many events there are.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import anyio
import httpx2

from toolset.mcp.config import ServerConfig
from toolset.mcp.guard import LINE_BYTES, Pace, has_too_many_values

TIMEOUT = httpx2.Timeout(10.0, read=300.0)
# Opening a stream counts for so many messages: a server may end it, and have the SDK open it, ever
# again.
STREAM = 200


def open_client(config: ServerConfig, tls: ssl.SSLContext) -> httpx2.AsyncClient:
    """A client for one server. Answers come uncompressed: one megabyte may become many."""
    headers = {**config.headers, "Accept-Encoding": "identity"}
    hooks: dict[str, list[Callable[..., Any]]] = {"response": [partial(_bound, Pace())]}
    return httpx2.AsyncClient(headers=headers, timeout=TIMEOUT, verify=tls, event_hooks=hooks)


async def _bound(pace: Pace, response: httpx2.Response) -> None:
    """Have an answer end in an error beyond the limit; a stream of events has a limit for each
    event, and a pace."""
    if response.status_code in (401, 403):
        raise ConnectionError(
            f"HTTP {response.status_code}: the server refuses the headers in MCP_SERVERS"
        )
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ConnectionError("the answer is compressed, which was not asked for")
    if response.request.method == "GET":
        await anyio.sleep(pace.take(STREAM, b""))
    is_endless = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    response.stream = _Bounded(response.stream, pace, end=b"\n\n" if is_endless else None)


class _Bounded(httpx2.AsyncByteStream):
    """Whole messages.

    Args:
        end: of a message; None if there is only one.
    """

    def __init__(
        self, stream: httpx2.AsyncByteStream | httpx2.SyncByteStream, pace: Pace, end: bytes | None
    ) -> None:
        self._stream, self._pace, self._end = stream, pace, end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        buffer = bytearray()
        async for piece in self._lines():
            scanned = max(len(buffer) - 1, 0)
            buffer += piece
            messages = buffer.count(self._end, scanned) if self._end else 0
            await anyio.sleep(self._pace.take(1 + messages, piece))
            whole = buffer.rfind(self._end) + len(self._end) if self._end and messages else 0
            if len(buffer) - whole > LINE_BYTES:
                raise httpx2.StreamError(f"the answer has more than {LINE_BYTES} bytes")
            if whole:
                yield _checked(bytes(buffer[:whole]))
                del buffer[:whole]
        yield _checked(bytes(buffer))

    async def _lines(self) -> AsyncIterator[bytes]:
        """The pieces; of a stream of events, with one kind of line end in place of three."""
        after_return = False
        # This is a response of an asynchronous client.
        async for piece in self._stream:  # type: ignore[union-attr]
            if self._end is None:
                yield piece
            elif piece:
                text = piece
                if after_return:
                    text = piece.removeprefix(b"\n")
                after_return = piece.endswith(b"\r")
                yield text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    async def aclose(self) -> None:
        await self._stream.aclose()  # type: ignore[union-attr]  # as above


def _checked(data: bytes) -> bytes:
    if has_too_many_values(data):
        raise httpx2.StreamError("the answer has too many values")
    return data
