"""A service on the web that a tool reads from: one time limit, one size limit, and an error text
for every failure."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any
from urllib.parse import urlsplit

import httpx
import msgspec
from pydantic import AfterValidator

from toolset.tool import ToolError
from toolset.web.decoding import decode_json

BODY_CAP = 1024 * 1024  # bytes
RETRY_PAUSE_S = 0.2
RETRIED = frozenset({500, 502, 503, 504})
NO_TEXTS: Mapping[int, str] = MappingProxyType({})
UNCOMPRESSED = {"Accept-Encoding": "identity"}  # the cap counts bytes as they arrive


def base_url(value: str) -> str:
    """The address without a slash at its end.

    Raises:
        ValueError: it is more or less than scheme, host and port.
    """
    parts = urlsplit(value)
    is_plain = parts.path in ("", "/") and not (
        parts.query or parts.fragment or "@" in parts.netloc
    )
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain:
        raise ValueError("write it as https://host or http://host:port, without a path")
    return value.rstrip("/")


BaseUrl = Annotated[
    str, AfterValidator(base_url)
]  # of a service, in a tool's Config: the operator may name any host


class TemporaryError(ToolError):
    """A failure for which one more attempt makes sense."""


class StatusError(ToolError):
    """The service refuses the request."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(text or f"API error: status {status}")
        self.status = status


class Source:
    """A client of one service.

    Args:
        base_url: scheme, host and port; no argument of a call can change them.
        timeout_s: for everything: connection, a slow body, the second attempt.
        cap: bytes of a body.
        refusals: the error text for a status.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        base_url: str,
        timeout_s: float,
        cap: int = BODY_CAP,
        refusals: Mapping[int, str] = NO_TEXTS,
    ) -> None:
        self._http = http
        self._base_url = base_url
        self._timeout_s = timeout_s
        self._cap = cap
        self._refusals = refusals

    async def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """The body at a path, which is already quoted. A temporary failure gets a second attempt.

        Raises:
            ToolError: one text per kind of failure.
        """
        return await self._in_time("GET", path, params=params, headers=headers)

    async def get_json(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The JSON at a path, as ``decode_json`` reads it.

        Raises:
            ToolError: one text per kind of failure.
        """
        return _decoded(await self.get(path, params, headers))

    async def post_json(
        self, path: str, content: Any, headers: Mapping[str, str] | None = None
    ) -> Any:
        """The JSON that a service answers to JSON, for one that reads by POST; like ``get_json``
        otherwise.

        Raises:
            ToolError: one text per kind of failure.
        """
        typed = {"Content-Type": "application/json", **(headers or {})}
        body = msgspec.json.encode(content)
        return _decoded(await self._in_time("POST", path, headers=typed, content=body))

    async def _in_time(
        self, method: str, path: str, headers: Mapping[str, str] | None, **parts: Any
    ) -> bytes:
        request = self._http.build_request(
            method,
            f"{self._base_url}{path}",
            headers={**UNCOMPRESSED, **(headers or {})},
            timeout=None,  # httpx would limit each read separately
            **parts,
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._send_twice(request)
        except TimeoutError as error:
            raise ToolError("API request failed: timeout") from error

    async def _send_twice(self, request: httpx.Request) -> bytes:
        loop = asyncio.get_running_loop()
        half_time = loop.time() + self._timeout_s / 2
        try:
            return await self._send(request)
        except TemporaryError:
            if loop.time() + RETRY_PAUSE_S > half_time:
                raise
        await asyncio.sleep(RETRY_PAUSE_S)
        return await self._send(request)

    async def _send(self, request: httpx.Request) -> bytes:
        try:
            status, body = await self._exchange(request)
        except httpx.ConnectError as error:
            raise TemporaryError("API request failed: connection failed") from error
        except httpx.HTTPError as error:
            raise TemporaryError("API request failed: connection closed") from error
        self.check(status, body)
        return body

    def check(self, status: int, _body: bytes) -> None:
        """Raise ``ToolError`` for a response that is none: for every status but 200."""
        if status in RETRIED:
            raise TemporaryError(f"API error: status {status}")
        if status != httpx.codes.OK:
            raise StatusError(status, self._refusals.get(status, ""))

    async def _exchange(self, request: httpx.Request) -> tuple[int, bytes]:
        """Status and body of one request; redirects are not followed."""
        response = await self._http.send(request, stream=True, follow_redirects=False)
        try:
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > self._cap:
                    raise ToolError("API request failed: answer too large")
        finally:
            await response.aclose()
        return response.status_code, bytes(body)


def _decoded(body: bytes) -> Any:
    try:
        return decode_json(body)
    except ValueError as error:
        raise ToolError("API request failed: the answer is not JSON") from error
