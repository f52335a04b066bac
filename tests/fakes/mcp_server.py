"""A real MCP server, written with the SDK: a program over stdio, an application over streamable HTTP."""

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


def make() -> MCPServer:
    """The server with its tools."""
    server = MCPServer("demo")

    @server.tool(annotations=READS)
    def add(a: int, b: int) -> Sum:
        """Add two numbers."""
        return {"total": a + b}

    @server.tool(annotations=READS, structured_output=False)
    def greet(name: str) -> str:
        """Greet somebody."""
        return f"Hello, {name}!"

    @server.tool(structured_output=False)
    def launch() -> str:
        """Launch it."""
        return "launched"

    @server.tool(annotations=READS, structured_output=False)
    def draw() -> Image:
        """Draw a picture."""
        return Image(data=PNG, format="png")

    @server.tool(annotations=READS, structured_output=False)
    def fail() -> str:
        """Fail always."""
        raise ValueError("the moon is not full")

    @server.tool(annotations=READS, structured_output=False)
    async def wait(seconds: float) -> str:
        """Wait."""
        await anyio.sleep(seconds)
        return "done"

    @server.tool(annotations=READS, structured_output=False)
    def environment() -> str:
        """The names of the variables that the server has."""
        return " ".join(sorted(os.environ))

    @server.tool(annotations=READS, structured_output=False)
    def die() -> str:
        """End the process."""
        os._exit(1)

    @server.tool(structured_output=False)
    async def learn(context: Context) -> str:
        """Have one more tool, and tell that the list has changed."""

        def learned() -> str:
            """A tool of later."""
            return "learned"

        server.add_tool(learned, annotations=READS, structured_output=False)
        await context.notify_tools_changed()
        return "done"

    return server


if __name__ == "__main__":
    make().run("stdio")
