"""A real MCP server, written with the SDK: a program over stdio, an application over streamable
HTTP."""

from __future__ import annotations

import base64
import os
from typing import TypedDict

import anyio
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import ToolAnnotations

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
READS = ToolAnnotations(read_only_hint=True)


class Sum(TypedDict):
    """What ``add`` returns."""

    total: int


def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return {"total": a + b}


def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


def launch() -> str:
    """Launch it."""
    return "launched"


def draw() -> Image:
    """Draw a picture."""
    return Image(data=PNG, format="png")


def fail() -> str:
    """Fail always."""
    raise ValueError("the moon is not full")


async def wait(seconds: float) -> str:
    """Wait."""
    await anyio.sleep(seconds)
    return "done"


def environment() -> str:
    """The names of the variables that the server has."""
    return " ".join(sorted(os.environ))


def die() -> str:
    """End the process."""
    os._exit(1)


async def learn(context: Context) -> str:
    """Have one more tool, and tell that the list has changed."""
    context.mcp_server.add_tool(learned, annotations=READS, structured_output=False)
    await context.notify_tools_changed()
    return "done"


def learned() -> str:
    """A tool of later."""
    return "learned"


def make() -> MCPServer:
    """The server with its tools; all but ``launch`` and ``learn`` say that they only read."""
    server = MCPServer("demo")
    server.add_tool(add, annotations=READS)
    for tool in (greet, launch, draw, fail, wait, environment, die, learn):
        hints = None if tool in (launch, learn) else READS
        server.add_tool(tool, annotations=hints, structured_output=False)
    return server


if __name__ == "__main__":
    make().run("stdio")
