"""The tools that only read, served by the Model Context Protocol over stdio and in single HTTP
requests."""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from collections.abc import Sequence
from contextlib import AsyncExitStack, redirect_stdout
from importlib.metadata import version
from io import TextIOWrapper
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from bot.agent.hooks import Hooks
from bot.errors import TurnFailed
from bot.ops.call_tool import context_by_hand
from bot.plugins import load_hooks, open_tools
from bot.settings import Settings
from bot.telemetry import Metrics, Span
from bot.transcript import ToolCall
from toolset.schema import Schema, shortened
from toolset.shown import ToolFile
from toolset.tool import NAME_CAP, ToolContext, ToolOutcome, ValidatedTool
from toolset.tool_map import ToolMap

# A request has so many bytes at most; over stdio, characters.
BODY_CAP = 256 * 1024
# TOOLS_ALLOW names the MCP server by this word.
CHANNEL = "mcp"


class ToolServer:
    """Lists and calls the tools that only read and need no conversation; none of other MCP servers.

    Args:
        tools: their rules hold, for a channel named ``mcp``. A rule makes no tool one that reads.

    Attributes:
        server: the SDK's.

    Raises:
        SettingsError: one of the operator's hooks, which run around each call, cannot be loaded.
    """

    def __init__(self, tools: ToolMap, settings: Settings, metrics: Metrics) -> None:
        read = tools.of_start().low_risk().of_place(CHANNEL, "operator")
        self._served = {}
        for each in read.definitions:
            if each.only_reads and not each.needs_conversation:
                self._served[each.name] = read[each.name]
        self._hooks = Hooks(load_hooks(settings))
        self._settings = settings
        self._metrics = metrics
        self.server: Server[dict[str, Any]] = Server(
            "kaiwa",
            version=version("kaiwa"),
            title=settings.bot_name,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request with JSON; nothing of it is kept."""
        manager = StreamableHTTPSessionManager(
            self.server, json_response=True, stateless=True, max_request_body_size=BODY_CAP
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    async def serve_stdio(self) -> None:
        """Serve the program at the other end of stdin and stdout until it closes stdin."""
        async with stdio_server(_stdin()) as (read, write):
            with redirect_stdout(sys.stderr):
                # What a tool prints is not the protocol.
                await self.server.run(read, write, self.server.create_initialization_options())

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        tool = self._served.get(name)
        if tool is None:
            return None
        return dict(tool.definition.parameters)

    async def _list(
        self, _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(map(_listed, self._served.values())))

    async def _call(
        self, _context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        context = context_by_hand(self._settings)
        call = ToolCall(context.call_id, params.name, params.arguments or {})
        tool = self._served.get(params.name)
        measured = Span("tool", self._metrics)
        try:
            made, outcome = await self._hooks.before(call, context)
            outcome = outcome or await self._run(made, context)
            outcome = await self._hooks.after(made, context, outcome)
        except TurnFailed:
            # A hook ends the turn, which is this call; its cause is for the operator.
            outcome = ToolOutcome.error("refused")
        measured.end(
            "tool.called",
            "error" if outcome.is_error else "ok",
            params.name if tool else "unknown",
        )
        return _result(outcome, tool.response_schema if tool else None)

    async def _run(self, call: ToolCall, context: ToolContext) -> ToolOutcome:
        tool = self._served.get(call.name)
        if tool is None:
            known = ", ".join(self._served)
            return ToolOutcome.error(
                f"unknown tool: {shortened(call.name, NAME_CAP)}. Available tools: {known}"
            )
        return await tool.call(call.arguments, context)


async def serve_stdio(settings: Settings) -> None:
    """``kaiwa mcp``: serve until the client closes stdin.

    Raises:
        SettingsError: a variable is wrong, or a tool cannot be offered.
    """
    async with AsyncExitStack() as stack:
        with redirect_stdout(sys.stderr):
            tools = await stack.enter_async_context(open_tools(settings))
            server = ToolServer(tools, settings, Metrics())
        await server.serve_stdio()


class _BoundedLines(TextIOWrapper):
    """Lines; one that is too long is read as an empty one, so that it does not fill the memory."""

    # TextIOWrapper itself has this signature.
    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        line = super().readline(BODY_CAP)
        if len(line) < BODY_CAP or line.endswith("\n"):
            return line
        while line and not line.endswith("\n"):
            line = super().readline(BODY_CAP)
        return "\n"


def _stdin() -> anyio.AsyncFile[str]:
    """The lines of stdin, of which the programs that tools start read nothing."""
    own, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # Not closed: a thread may still read from it when the process ends.
    return anyio.wrap_file(
        _BoundedLines(os.fdopen(own, "rb", closefd=False), encoding="utf-8", errors="replace")
    )


def _result(outcome: ToolOutcome, promised: Any) -> types.CallToolResult:
    """The outcome in the protocol's form.

    Args:
        promised: the response's schema. A response that was cut to its size does not fit it, and
            clients would refuse it: the text goes out as an error.
    """
    if outcome.is_error or promised is None:
        return _error(str(outcome.response.get("error", "")))
    text = json.dumps(outcome.response, ensure_ascii=False)
    if Schema(promised).complaint(outcome.response):
        return _error(str(outcome.response.get("output", text)))
    content = [types.TextContent(type="text", text=text), *_files(outcome.files)]
    return types.CallToolResult(content=content, structured_content=outcome.response)


def _error(text: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=_encodable(text))], is_error=True
    )


def _listed(tool: ValidatedTool) -> types.Tool:
    declared = tool.definition
    return types.Tool(
        name=declared.name,
        description=declared.description,
        input_schema=dict(declared.parameters),
        output_schema=dict(tool.response_schema),
        annotations=types.ToolAnnotations(read_only_hint=True, idempotent_hint=declared.idempotent),
    )


def _files(files: Sequence[ToolFile]) -> list[types.ContentBlock]:
    """Images as images, other files in words."""
    blocks: list[types.ContentBlock] = []
    for file in files:
        if file.mime.startswith("image/"):
            data = b64encode(file.data).decode()
            blocks.append(types.ImageContent(type="image", data=data, mime_type=file.mime))
        else:
            blocks.append(types.TextContent(type="text", text=_encodable(file.text)))
    return blocks


def _encodable(text: str) -> str:
    """The text without halves of characters, which cannot be sent."""
    return text.encode(errors="replace").decode()
