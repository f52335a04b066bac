"""MCP servers: connected from the settings, examined, and accepted where they have changed.

The start waits for none of them, and one that fails prevents nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from bot.checks import CheckResult
from bot.errors import BadInput, SettingsError, StoreUnavailable
from bot.http import tls_context
from bot.plugins import open_tools
from bot.settings import Settings
from bot.store import ToolPins
from toolset.mcp.catalog import DESCRIPTION_CAP, shown, tool_name
from toolset.mcp.config import ServerConfig, read_servers
from toolset.mcp.connection import McpServer, open_servers
from toolset.mcp.pins import ListedTool, digests_of, pin_nothing
from toolset.tool import ToolSetupError
from toolset.tool_map import ToolMap

# A line names so many tools at most.
FEW = 10
# A command that asks the servers once waits so long for them.
PATIENCE_S = 12.0


def mcp_servers(settings: Settings) -> tuple[ServerConfig, ...]:
    """The MCP servers that MCP_SERVERS names.

    Raises:
        SettingsError: the file cannot be used, or MCP_TRUST names a server that is not in it.
    """
    try:
        servers = (
            read_servers(settings.mcp_servers, settings.mcp_trust) if settings.mcp_servers else ()
        )
    except ToolSetupError as error:
        raise SettingsError("MCP_SERVERS", str(error)) from error
    if unknown := sorted(set(settings.mcp_trust) - {server.name for server in servers}):
        raise SettingsError(
            "MCP_TRUST", f"{unknown[0]} is no server in MCP_SERVERS; write its name as it is there"
        )
    return servers


@asynccontextmanager
async def open_mcp(
    settings: Settings, tools: ToolMap, pins: ToolPins | None
) -> AsyncIterator[list[McpServer]]:
    """Connect to all MCP servers in the background, and offer their tools among ``tools``.

    Args:
        pins: None for a list on the command line, which pins nothing.

    Raises:
        SettingsError: MCP_SERVERS or MCP_TRUST is wrong.
    """

    async def pin(server: str, digests: Mapping[str, str]) -> Mapping[str, str] | None:
        if pins is None:
            return digests
        try:
            return await pins.pin(server, digests)
        except StoreUnavailable:
            return None

    async with open_servers(mcp_servers(settings), tools, pin, tls_context()) as servers:
        yield servers


async def check_servers(settings: Settings, pins: ToolPins | None) -> list[CheckResult]:
    """Connect to every server, and tell what it offers."""
    async with open_tools(settings) as tools, open_mcp(settings, tools, pins) as servers:
        await wait_for(servers)
        return [_result(server, tools) for server in servers]


async def wait_for(servers: Sequence[McpServer], seconds: float = PATIENCE_S) -> None:
    """Wait until each server has been listed or has failed, or so long."""
    waits = [asyncio.create_task(server.settled.wait()) for server in servers]
    if waits:
        _, late = await asyncio.wait(waits, timeout=seconds)
        for wait in late:
            wait.cancel()


async def accept(settings: Settings, name: str, pins: ToolPins) -> list[tuple[str, str, str]]:
    """Pin the tools of a server as they are now.

    Returns:
        Each tool, whether it is new, changed or as before, and its description.

    Raises:
        BadInput: there is no such server, or it does not answer.
        StoreUnavailable: the store does not answer.
    """
    configs = {config.name: config for config in mcp_servers(settings)}
    if name not in configs:
        raise BadInput(
            f"no server is named {name}; MCP_SERVERS names {', '.join(configs) or 'none'}"
        )
    async with open_servers([configs[name]], ToolMap([]), pin_nothing, tls_context()) as (server,):
        await wait_for([server])
        if server.cause:
            raise BadInput(f"{name} cannot be read: {server.cause}")
        listed = server.catalog.listed
    before = await pins.read(name)
    await pins.accept(name, digests_of(listed))
    rows = []
    for one in listed:
        description = shown(one.description, DESCRIPTION_CAP)
        rows.append((tool_name(name, one.name), _state(one, before), description))
    return rows


def _state(tool: ListedTool, before: dict[str, str]) -> str:
    if tool.name not in before:
        return "new"
    return "as before" if before[tool.name] == tool.digest else "changed"


def _result(server: McpServer, tools: ToolMap) -> CheckResult:
    """What the doctor says of a server."""
    label = f"mcp {shown(server.name)}"
    if server.cause:
        return CheckResult(
            "failure", label, server.cause, "check its entry in the file that MCP_SERVERS names"
        )
    catalog = server.catalog
    dropped = tools.dropped(server.name)
    count = sum(tools.get(tool.definition.name) is tool for tool in catalog.tools)
    parts = ["connected, 1 tool" if count == 1 else f"connected, {count} tools"]
    left_out = [f"{shown(name)} ({cause})" for name, cause in catalog.left_out.items()]
    left_out += [f"{name} (another tool has its name)" for name in dropped]
    if left_out:
        parts.append(f"left out: {_few(left_out)}")
    if server.has_more:
        parts.append("it lists more tools than are read")
    if catalog.changed:
        changed = _few(list(map(shown, catalog.changed)))
        parts.append(f"not as first seen, so each call is asked for: {changed}")
        return CheckResult(
            "warning",
            label,
            "; ".join(parts),
            f"read what they say, then: kaiwa tools accept {server.name}",
        )
    return CheckResult("ok" if len(parts) == 1 else "warning", label, "; ".join(parts))


def _few(names: Sequence[str]) -> str:
    listed = ", ".join(names[:FEW])
    if len(names) > FEW:
        return f"{listed} and {len(names) - FEW} more"
    return listed
