"""MCP servers for tests, and what a test sees of them."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.project import ROOT
from tests.toolset.contexts import context
from toolset.mcp.config import ServerConfig
from toolset.mcp.connection import McpServer, open_servers
from toolset.tool import ToolOutcome
from toolset.tool_map import ToolMap

TEXT = {"content": [{"type": "text", "text": "fine"}]}
REAL = ServerConfig(
    "real",
    sys.executable,
    (str(ROOT / "tests" / "fakes" / "mcp_server.py"),),
    MappingProxyType({}),
    is_trusted=True,
)


@dataclass
class MemoryPins:
    """Pins as the store keeps them; ``away`` as while the store is."""

    pins: dict[str, str] = field(default_factory=dict)
    away: bool = False

    async def pin(self, _server: str, digests: Mapping[str, str]) -> Mapping[str, str] | None:
        """Pin what has no pin."""
        if self.away:
            return None
        return {name: self.pins.setdefault(name, digest) for name, digest in digests.items()}


@dataclass
class Served:
    """A server, the tools on offer, and what it takes to call one."""

    server: McpServer
    tools: ToolMap

    async def call(self, name: str, /, within: float = 20.0, **arguments: Any) -> ToolOutcome:
        """Call a tool by the name that the model uses."""
        return await self.tools.call(name, arguments, context(seconds=within))

    async def text(self, name: str, /, **arguments: Any) -> str:
        """What a tool answers in words."""
        outcome = await self.call(name, **arguments)
        return str(outcome.response.get("text") or outcome.response)


@asynccontextmanager
async def serving(
    config: ServerConfig, pins: MemoryPins | None = None, tools: ToolMap | None = None
) -> AsyncIterator[Served]:
    """Connect to a server, and wait until it has been listed or has failed."""
    offered = ToolMap([]) if tools is None else tools
    tls = ssl.create_default_context()
    async with open_servers([config], offered, (pins or MemoryPins()).pin, tls) as (server,):
        await server.settled.wait()
        yield Served(server, offered)


@dataclass
class Hostile:
    """The script of a hostile server."""

    path: Path

    def says(self, **script: Any) -> ServerConfig:
        """Have the server behave so, from now on."""
        self.path.write_text(json.dumps(script), "utf-8")
        program = str(ROOT / "tests" / "fakes" / "mcp_hostile.py")
        return ServerConfig("bad", sys.executable, (program, str(self.path)), is_trusted=True)

    @property
    def child(self) -> int:
        """The id of the process that it tells of; 0 while it writes it."""
        return int(self.path.with_suffix(".pid").read_text("utf-8") or 0)


@asynccontextmanager
async def flood(how: str) -> AsyncIterator[str]:
    """A server over HTTP that floods, in a process of its own; its URL."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "tests" / "fakes" / "mcp_hostile_http.py"), how),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}/mcp"
    finally:
        process.kill()
        await process.wait()


def listed(name: str, **other: Any) -> dict[str, Any]:
    """A tool as a server lists it."""
    hints = {"readOnlyHint": True}
    return {
        "name": name,
        "description": f"Does {name}",
        "inputSchema": {"type": "object"},
        "annotations": hints,
        **other,
    }


def is_alive(process: int) -> bool:
    """Whether there is such a process, and no zombie."""
    with suppress(OSError), open(f"/proc/{process}/stat", encoding="utf-8") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "Z"
    return False
