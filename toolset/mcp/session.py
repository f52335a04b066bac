"""An open connection to a server: its list of tools, and calls. Besides, only ``relay`` and
``stdio`` use the SDK."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import anyio
from mcp import Client, MCPError
from mcp.client.session import IncomingMessage
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp_types import (
    CONNECTION_CLOSED,
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    Implementation,
    PaginatedRequestParams,
    RequestParamsMeta,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolListChangedNotification,
)
from pydantic import ValidationError

from toolset.mcp.answer import Answer
from toolset.mcp.config import ServerConfig
from toolset.mcp.guard import LINE_BYTES
from toolset.mcp.http import open_client
from toolset.mcp.pins import ListedTool
from toolset.mcp.relay import MOST_TOOLS, Relay
from toolset.mcp.stdio import run_server
from toolset.tool import TRACEPARENT, ToolError

MOST_PAGES = 20
# A schema of more bytes than any tool may have is not stored.
LARGEST_SCHEMA = 64 * 1024
# The handshake and a page of the list may take so long.
REQUEST_S = 20.0
LISTEN_PAUSE_S = 30.0
NO_MCP = "the server's answer is not one of MCP"
# The SDK says so.
LOST = {
    (CONNECTION_CLOSED, "Connection closed"),
    (INVALID_REQUEST, "Session terminated"),
}


class SessionLost(Exception):
    """The connection is of no use any more."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A server's list.

    Attributes:
        malformed: what is wrong with tools that are not in it, by name.
        has_more: it has more than are read.
    """

    tools: tuple[ListedTool, ...]
    malformed: Mapping[str, str]
    has_more: bool


class Session:
    """An open connection to a server."""

    def __init__(self, client: Client, relay: Relay) -> None:
        self._client = client
        self._relay = relay

    async def read_tools(self) -> Listing:
        """The server's tools.

        Raises:
            Exception: anything, for a list that is none.
        """
        found: list[ListedTool] = []
        malformed: dict[str, str] = {}
        cursor: str | None = None
        for _ in range(MOST_PAGES):
            try:
                page = await self._client.session.list_tools(
                    params=PaginatedRequestParams(cursor=cursor)
                )
            except ValidationError as error:
                raise ConnectionError(f"its list is not one of MCP: {_first(error)}") from None
            found += await asyncio.to_thread(lambda tools: list(map(_listed, tools)), page.tools)
            malformed |= self._relay.malformed
            cursor = page.next_cursor
            if cursor is None or len(found) + len(malformed) > MOST_TOOLS:
                break
        has_more = cursor is not None or len(found) + len(malformed) > MOST_TOOLS
        return Listing(tuple(found[:MOST_TOOLS]), malformed, has_more)

    async def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool. The SDK's own ``call_tool`` would check the answer by the server's schema,
        however hostile.

        Raises:
            ToolError: the server refuses, or answers nonsense.
            SessionLost: the connection broke.
        """
        params = CallToolRequestParams(name=tool, arguments=arguments)
        if traceparent := TRACEPARENT.get():
            # The place that MCP has for it (SEP-414).
            params.meta = RequestParamsMeta(traceparent=traceparent)  # type: ignore[typeddict-unknown-key]  # an open map
        request = CallToolRequest(params=params)
        try:
            result = await self._client.session.send_request(request, CallToolResult)
        except MCPError as error:
            if (error.code, error.error.message) in LOST:
                raise SessionLost from error
            if error.code == PARSE_ERROR:
                # The SDK quotes the answer.
                raise ToolError(NO_MCP) from error
            raise ToolError(f"the server refuses the call: {error.error.message}") from error
        except ValidationError as error:
            raise ToolError(NO_MCP) from error
        except (RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise SessionLost from error
        return _answer(result)

    async def listen(self, changed: Callable[[], None]) -> None:
        """Wait for changes of the list, from servers of 2026-07-28 and later; older ones tell them
        unasked."""
        while True:
            try:
                async with self._client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        changed()
            except ListenNotSupportedError:
                return
            except (MCPError, SubscriptionLost, TimeoutError, ValueError):
                pass
            await anyio.sleep(LISTEN_PAUSE_S)


@asynccontextmanager
async def open_session(
    config: ServerConfig,
    tls: ssl.SSLContext,
    changed: Callable[[], None],
    ended: Callable[[], None],
) -> AsyncIterator[Session]:
    """Connect to a server.

    Args:
        changed: called when its list of tools changes.
        ended: called when it says no more.

    Raises:
        Exception: anything: the server, the network or the SDK failed.
    """

    async def heed(message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            changed()

    async with AsyncExitStack() as stack:
        if config.command:
            transport: Any = run_server(config)
        else:
            http = await stack.enter_async_context(open_client(config, tls))
            transport = streamable_http_client(
                config.url, http_client=http, max_sse_event_size=LINE_BYTES
            )
        info = Implementation(name="kaiwa", version=version("kaiwa"))
        relay = Relay(transport, ended)
        client = Client(
            relay.open(),
            read_timeout_seconds=REQUEST_S,
            message_handler=heed,
            client_info=info,
            cache=None,
        )
        relay.version = lambda: client.session.protocol_version
        session = Session(await stack.enter_async_context(client), relay)
        listeners = await stack.enter_async_context(anyio.create_task_group())
        listeners.start_soon(session.listen, changed)
        yield session
        listeners.cancel_scope.cancel()


def _first(error: ValidationError) -> str:
    """Where a value is wrong, and why, without the value."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _listed(tool: Tool) -> ListedTool:
    hints = tool.annotations
    description = tool.description or tool.title or ""
    reads = bool(hints and hints.read_only_hint)
    return ListedTool(
        tool.name, description, _bounded(tool.input_schema), _bounded(tool.output_schema), reads
    )


def _bounded(schema: Any) -> Any:
    """The schema; of one that is too large anyway only its digest, so that a list cannot fill the
    memory."""
    text = json.dumps(schema, sort_keys=True).encode()
    if len(text) > LARGEST_SCHEMA:
        return f"too large: {sha256(text).hexdigest()}"
    return schema


def _answer(result: CallToolResult) -> Answer:
    texts = [text for block in result.content if (text := _text(block))]
    images = [block.data for block in result.content if isinstance(block, ImageContent)]
    return Answer(texts, images, result.structured_content, result.is_error)


def _text(block: Any) -> str:
    """A part of an answer in words; pictures have none."""
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, EmbeddedResource):
        inside = block.resource
        if isinstance(inside, TextResourceContents):
            return inside.text
        return f"[file {inside.uri}, cannot be shown]"
    if isinstance(block, ResourceLink):
        return f"{block.name}: {block.uri}"
    if isinstance(block, ImageContent):
        return ""
    return f"[{block.type}, cannot be shown]"
