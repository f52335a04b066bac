"""Kaiwa as an MCP server, started by the SDK's own client, and beside the page of ``kaiwa run``."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from bot.cli.new_tool import write_tool
from tests.fakes.wttr import WttrFake
from tests.process.kaiwa_process import ENTRY, kaiwa
from tests.project import environment

TOKEN = "a-long-token-of-the-console"


def noisy_tool(folder: Path) -> None:
    """A tool whose file prints when it is loaded and when it is called."""
    folder.mkdir()
    written = write_tool("shout", folder).tool
    text = written.read_text("utf-8").replace(
        "        text = arg", '        print("called")\n        text = arg'
    )
    written.write_text(f'{text}\n\nprint("loaded")\n', "utf-8")


def peak_of(process: int) -> int:
    """The most memory that a process has had, in KiB."""
    return int(Path(f"/proc/{process}/status").read_text().partition("VmHWM:")[2].split()[0])


async def test_a_client_starts_it_and_calls_a_tool(tmp_path: Path, wttr: WttrFake) -> None:
    """What tools print does not disturb the protocol; nothing is left in the folder but what was
    there."""
    noisy_tool(tmp_path / "tools")
    wttr.place("Tokyo", temp=21)
    variables = environment(WTTR_BASE_URL=wttr.base_url, TOOLS_DIR=str(tmp_path / "tools"))
    server = StdioServerParameters(
        command=sys.executable, args=["-c", ENTRY, "mcp"], env=variables, cwd=tmp_path
    )
    async with Client(server) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"get_weather", "shout"} <= names
        assert names & {"set_reminder", "list_reminders", "remember", "show_list"} == set()
        loud = await client.call_tool("shout", {"text": "hello"})
        assert loud.structured_content == {"text": "HELLO"}
        weather = await client.call_tool("get_weather", {"location": "Tokyo"})
        assert weather.structured_content["current_temp_c"] == "21"
        assert (await client.call_tool("shout", {"text": 1})).is_error
    assert os.listdir(tmp_path) == ["tools"]


async def test_stdout_carries_the_protocol_only_and_nonsense_harms_nothing(tmp_path: Path) -> None:
    """Every line is a message; one without measure is not kept; the end of stdin ends the process
    well."""
    noisy_tool(tmp_path / "tools")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ENTRY, "mcp"),
        cwd=tmp_path,
        env=environment(TOOLS_DIR=str(tmp_path / "tools"), LOG_LEVEL="DEBUG"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    lines = [
        b"nonsense",
        b'{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"'
        + b"x" * 100_000_000
        + b'"}}',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}',
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
        b'"clientInfo":{"name":"test","version":"1"}}}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shout","arguments":{"text":"hello"}}}',
    ]
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(b"\n".join([*lines, b""]))
        async with asyncio.timeout(20):
            spoken = [await process.stdout.readline() for _ in range(2)]
            peak = peak_of(process.pid)
            process.stdin.close()
            rest, log = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert [line.startswith(b'{"jsonrpc":"2.0"') for line in spoken] == [True, True]
    assert b'"structuredContent":{"text":"HELLO"}' in spoken[1]
    assert (rest, process.returncode) == (b"", 0)
    assert b"called" in log
    assert b'"event":"tool.called"' in log.replace(b'": ', b'":')
    assert peak < 250_000


async def test_kaiwa_run_serves_them_beside_the_page(tmp_path: Path, wttr: WttrFake) -> None:
    """With the page's token."""
    wttr.place("Tokyo", temp=21)
    variables = {"WTTR_BASE_URL": wttr.base_url}
    async with kaiwa(tmp_path, "run", CONSOLE_TOKEN=TOKEN, **variables) as running:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http,
            Client(streamable_http_client(f"{running.base_url}/mcp", http_client=http)) as client,
        ):
            weather = await client.call_tool("get_weather", {"location": "Tokyo"})
            assert weather.structured_content["current_temp_c"] == "21"
        assert await running.post("/mcp", b"{}", {}) == 401
        assert TOKEN not in running.output
