"""Messages between a transport and the SDK, which would keep a task for each request of a server,
however many come, and would refuse a whole list for one malformed tool.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, ListToolsResult
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from toolset.mcp.pins import OWN_NAME_CAP

MOST_TOOLS = 200
UNANSWERED = 256  # requests of a server whose answers it has not read: it is given up
WAITING = 64  # messages that wait to be sent

Received = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Received], MemoryObjectSendStream[SessionMessage]]


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
        self._transport = transport
        self._ended = ended
        self._unanswered = 0
        self._list_request: str | int | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Streams]:
        """The streams for the SDK."""
        async with self._transport as (server_reading, server_writing):
            incoming, reading = anyio.create_memory_object_stream[Received](0)
            writing, outgoing = anyio.create_memory_object_stream[SessionMessage](WAITING)
            async with anyio.create_task_group() as group, incoming, reading, writing, outgoing:
                group.start_soon(self._read, server_reading, incoming)
                group.start_soon(self._write, outgoing, server_writing)
                yield reading, writing
                group.cancel_scope.cancel()

    async def _read(self, server: Any, incoming: MemoryObjectSendStream[Received]) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for message in server:
                if not self._accepts(message):
                    break
                await incoming.send(message)
        await incoming.aclose()
        self._ended()

    async def _write(
        self, outgoing: MemoryObjectReceiveStream[SessionMessage], server: Any
    ) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for message in outgoing:
                if (
                    isinstance(message.message, JSONRPCRequest)
                    and message.message.method == "tools/list"
                ):
                    self._list_request = message.message.id
                await server.send(message)
                if isinstance(message.message, JSONRPCResponse | JSONRPCError):
                    self._unanswered -= 1

    def _accepts(self, received: Received) -> bool:
        """Whether the server is still to be listened to; of a list only what is well-formed is
        left."""
        message = received.message if isinstance(received, SessionMessage) else None
        if isinstance(message, JSONRPCRequest):
            self._unanswered += 1
        if isinstance(message, JSONRPCResponse) and message.id == self._list_request:
            self.malformed = _leave_well_formed(message.result, self.version() or "2025-11-25")
        return self._unanswered <= UNANSWERED


def _leave_well_formed(result: dict[str, Any], version: str) -> dict[str, str]:
    """Remove from a page of a list what would have the SDK refuse all of it; says what was wrong,
    by name."""
    if not isinstance(tools := result.get("tools"), list):
        return {}
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
    tools[:] = [tool for index, tool in enumerate(tools) if index not in wrong]
    return malformed


def _name(tool: Any, index: int) -> str:
    name = tool.get("name") if isinstance(tool, dict) else None
    return name[:OWN_NAME_CAP] if isinstance(name, str) else f"number {index + 1}"
