"""What the SDK does not bound: it keeps a task for each request of a server, however many come, and
refuses a whole list for one malformed tool.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, ListToolsResult
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from toolset.mcp.pins import OWN_NAME_CAP

MOST_TOOLS = 200
# A server that has not read the answers to so many of its requests is given up.
UNANSWERED = 256

Received = SessionMessage | Exception


class Relay:
    """The messages of one connection.

    Args:
        transport: gives the streams of a server.
        ended: called when it says no more, or is given up.

    Attributes:
        version: of the protocol, as negotiated.
        malformed: what was wrong with tools that are removed from the newest page of the list, by
            name.
    """

    def __init__(
        self, transport: AbstractAsyncContextManager[Any], ended: Callable[[], None]
    ) -> None:
        self.version: Callable[[], str | None] = lambda: None
        self.malformed: dict[str, str] = {}
        self.ended = ended
        self._transport = transport
        self._unanswered = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[_Reading, _Writing]]:
        """The streams for the SDK."""
        async with self._transport as (reading, writing):
            yield _Reading(self, reading), _Writing(self, writing)

    def accepts(self, received: Received) -> bool:
        """Whether the server is still to be listened to; of a list only what is well-formed is
        left."""
        message = received.message if isinstance(received, SessionMessage) else None
        if isinstance(message, JSONRPCRequest):
            self._unanswered += 1
        if isinstance(message, JSONRPCResponse) and isinstance(message.result.get("tools"), list):
            version = self.version() or "2025-11-25"
            self.malformed = _leave_well_formed(message.result, version)
        return self._unanswered <= UNANSWERED

    def note_sent(self, sent: SessionMessage) -> None:
        """Count an answer that the server has taken."""
        if isinstance(sent.message, JSONRPCResponse | JSONRPCError):
            self._unanswered -= 1


class _Stream:
    def __init__(self, relay: Relay, inner: Any) -> None:
        self._relay = relay
        self._inner = inner

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


class _Reading(_Stream):
    """What the server says (``ReadStream`` of the SDK)."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Received:
        try:
            return await self.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._relay.ended()
            raise StopAsyncIteration from None

    async def receive(self) -> Received:
        received: Received = await self._inner.receive()
        if not self._relay.accepts(received):
            raise anyio.EndOfStream
        return received


class _Writing(_Stream):
    """What the server is sent (``WriteStream`` of the SDK)."""

    async def send(self, item: SessionMessage, /) -> None:
        await self._inner.send(item)
        self._relay.note_sent(item)


def _leave_well_formed(result: dict[str, Any], version: str) -> dict[str, str]:
    """Remove from a page of a list what would have the SDK refuse all of it; says what was wrong,
    by name."""
    tools = result["tools"]
    del tools[MOST_TOOLS + 1 :]
    wrong: dict[int, str] = {}
    for check in (
        partial(validate_server_result, "tools/list", version),
        ListToolsResult.model_validate,
    ):
        try:
            check(result)
        except ValidationError as error:
            for each in error.errors(include_url=False, include_context=False, include_input=False):
                match each["loc"]:
                    case ("tools", int(index), *where):
                        wrong.setdefault(
                            index,
                            ": ".join(["it is not one of MCP", *map(str, where), each["msg"]]),
                        )
    malformed = {_name(tools[index], index): cause for index, cause in wrong.items()}
    for index in sorted(wrong, reverse=True):
        del tools[index]
    return malformed


def _name(tool: Any, index: int) -> str:
    if isinstance(tool, dict) and isinstance(tool.get("name"), str):
        name: str = tool["name"]
        return name[:OWN_NAME_CAP]
    return f"number {index + 1}"
