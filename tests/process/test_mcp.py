"""``kaiwa run`` with MCP servers: it waits for none, calls those that are there, and leaves none behind."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import httpx

from tests.fakes.gemini import KEY, GeminiFake
from tests.process.kaiwa_process import kaiwa, left_behind
from tests.toolset.mcp.servers import REAL, Hostile, is_alive
from tests.waiting import until

TALK = "conversation-1"


def with_servers(folder: Path, gemini: GeminiFake) -> dict[str, str]:
    """A server that works and is trusted, and one that hangs and ignores SIGTERM."""
    hanging = Hostile(folder / "script.json").says(hangs=True)
    servers = {one.name: {"command": one.command, "args": [*one.args]} for one in (hanging, REAL)}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
    named = {"MCP_SERVERS": str(folder / "mcp.json"), "MCP_TRUST": "real"}
    return named | {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}


def servers_of(process: int) -> list[int]:
    """The ids of the working servers that a process has started."""
    children = Path(f"/proc/{process}/task").glob("*/children")
    started = [int(pid) for path in children for pid in path.read_text().split()]
    return [pid for pid in started if b"mcp_server.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]


async def test_a_server_that_hangs_stops_nothing(tmp_path: Path, gemini: GeminiFake) -> None:
    """The process is ready, the other server's tool is called, and at the end nothing is left of either."""
    gemini.call("real_greet", {"name": "Hanako"})
    gemini.say("It greets you")
    async with kaiwa(tmp_path, "run", **with_servers(tmp_path, gemini)) as running:
        async with httpx.AsyncClient() as http:
            assert (await http.get(f"{running.base_url}/readyz")).status_code == 200
        await until(lambda: bool(running.log("mcp.connected")))
        await running.say(TALK, "Have the server greet me, I am Hanako")
        assert await running.answers(TALK, 1) == ["It greets you"]
        hanging = Hostile(tmp_path / "script.json").child
        assert is_alive(hanging)
        assert await running.stop() == 0
    declared = gemini.requests[0].body["tools"][0]["functionDeclarations"]
    assert [one["name"] for one in declared][-9:][:2] == ["real_add", "real_greet"]
    told = gemini.requests[1].body["contents"][-1]["parts"][0]["functionResponse"]["response"]
    assert told == {"output": {"server": "real", "text": "Hello, Hanako!"}}
    assert left_behind(tmp_path) == []
    assert not is_alive(hanging)


async def test_a_killed_process_leaves_no_server_that_reads(tmp_path: Path, gemini: GeminiFake) -> None:
    """Its input ends with Kaiwa."""
    async with kaiwa(tmp_path, "run", **with_servers(tmp_path, gemini)) as running:
        await until(lambda: bool(running.log("mcp.connected")))
        server = servers_of(running.process.pid)
        running.process.send_signal(signal.SIGKILL)
        await until(lambda: not any(map(is_alive, server)))
        assert len(server) == 1
        hanging = Hostile(tmp_path / "script.json").child
    if is_alive(hanging):  # it reads nothing, so it does not notice
        os.kill(hanging, signal.SIGKILL)
