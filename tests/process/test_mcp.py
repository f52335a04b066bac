"""``kaiwa run`` with MCP servers: it waits for none, calls those that are there, and leaves none
behind."""

from __future__ import annotations

import json
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.fakes.gemini import KEY, GeminiFake
from tests.process.kaiwa_process import ENTRY, KaiwaProcess, kaiwa, left_behind
from tests.process.terminal import piped
from tests.process.test_shutdown import stopping
from tests.project import environment
from tests.toolset.mcp.servers import REAL, TEXT, Hostile, flood, is_alive, listed
from tests.waiting import until, until_true
from toolset.mcp.config import ServerConfig

TALK = "conversation-1"


def working(folder: Path) -> ServerConfig:
    """A server written without the SDK, which takes a second and a half to load."""
    launched = {"content": [{"type": "text", "text": "launched"}]}
    return Hostile(folder / "works.json").says(
        tools=[listed("launch", annotations={})], answers={"launch": launched}
    )


def with_servers(folder: Path, gemini: GeminiFake, works: ServerConfig) -> dict[str, str]:
    """A server that works and is trusted, and one that hangs and ignores SIGTERM."""
    hanging = Hostile(folder / "script.json").says(hangs=True)
    servers = {
        name: {"command": one.command, "args": [*one.args]}
        for name, one in (("bad", hanging), ("works", works))
    }
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
    named = {"MCP_SERVERS": str(folder / "mcp.json"), "MCP_TRUST": "works"}
    return named | {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}


async def asked(running: KaiwaProcess) -> dict[str, Any]:
    """The open question, as soon as there is one."""
    found: list[dict[str, Any]] = []

    async def is_asked() -> bool:
        async with running.browser() as http:
            found[:] = (await http.get(f"/console/{TALK}")).json()["cards"]
        return bool(found)

    await until_true(is_asked, 20)
    return found[0]


async def no_server_is_left(folder: Path) -> None:
    """Neither one that reads its input, which ends, nor one that hangs."""
    await until(lambda: not [line for line in left_behind(folder) if "/mcp_" in line])


async def test_killed_processes_leave_no_server(tmp_path: Path, gemini: GeminiFake) -> None:
    """Though nobody is left who could end them."""
    variables = with_servers(tmp_path, gemini, working(tmp_path))
    async with kaiwa(tmp_path, "run", "--processes", "2", **variables) as running:
        await until(lambda: len(running.log("mcp.connected")) == 2)
        await until(lambda: Hostile(tmp_path / "script.json").child > 0)
        running.process.send_signal(signal.SIGKILL)
        await no_server_is_left(tmp_path)


async def test_a_call_approved_before_a_restart_is_made_when_its_server_is_there(
    tmp_path: Path, gemini: GeminiFake
) -> None:
    """A server that takes seconds to start is waited for; the call is made once, by the process
    that comes after."""
    works = working(tmp_path)
    variables = with_servers(tmp_path, gemini, works)
    gemini.call("works_launch", {})
    async with kaiwa(tmp_path, "run", **variables) as running:
        await until(lambda: bool(running.log("mcp.connected")))
        await running.say(TALK, "Launch it")
        question = await asked(running)
        running.process.send_signal(signal.SIGKILL)
        await no_server_is_left(tmp_path)
    slow = ["-c", f"sleep 3; exec {works.command} {' '.join(works.args)}"]
    entry = {"mcpServers": {"works": {"command": "sh", "args": slow}}}
    (tmp_path / "mcp.json").write_text(json.dumps(entry), "utf-8")
    gemini.say("It is launched")
    async with kaiwa(tmp_path, "run", **variables) as running, running.browser() as http:
        yes = {"action": question["buttons"][0]["action"], "value": question["key"]}
        assert (await http.post(f"/console/{TALK}/actions", json=yes)).status_code == 202
        assert await running.answers(TALK, 1) == ["It is launched"]
        assert len(running.log("tool.called")) == 1
    reported = gemini.requests[-1].body["contents"][-1]["parts"][0]["functionResponse"]["response"]
    assert reported == {"output": {"server": "works", "text": "launched"}}


async def test_a_stop_during_a_call_ends_server_and_process(
    tmp_path: Path, gemini: GeminiFake
) -> None:
    """The call has its time; then the next process makes it again, because the tool only reads."""
    hostile = Hostile(tmp_path / "script.json")
    config = hostile.says(tools=[listed("do")])
    entry = {"mcpServers": {"bad": {"command": config.command, "args": [*config.args]}}}
    (tmp_path / "mcp.json").write_text(json.dumps(entry), "utf-8")
    variables = {"MCP_SERVERS": str(tmp_path / "mcp.json"), "MCP_TRUST": "bad"}
    variables |= {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
    gemini.call("bad_do", {})
    async with kaiwa(tmp_path, "run", **variables) as running:
        await until(lambda: bool(running.log("mcp.connected")))
        await running.say(TALK, "Do it")
        await until(lambda: hostile.path.with_suffix(".called").exists())
        await stopping(running, signal.SIGTERM)
        assert await running.stop() == 0
    assert left_behind(tmp_path) == []
    hostile.says(tools=[listed("do")], answers={"do": TEXT})
    gemini.say("It is done")
    async with kaiwa(tmp_path, "run", **variables) as running:
        assert await running.answers(TALK, 1) == ["It is done"]


async def test_the_first_turn_of_a_chat_has_the_tools_of_its_servers(
    tmp_path: Path, gemini: GeminiFake
) -> None:
    """They start with it, and a line from a pipe comes before a server has listed its tools."""
    config = Hostile(tmp_path / "script.json").says(tools=[listed("do")])
    entry = {"mcpServers": {"bad": {"command": config.command, "args": [*config.args]}}}
    (tmp_path / "mcp.json").write_text(json.dumps(entry), "utf-8")
    variables = {
        "MCP_SERVERS": str(tmp_path / "mcp.json"),
        "KAIWA_DATA_DIR": str(tmp_path / "data"),
    }
    variables |= {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
    gemini.say("I have them")
    patient = f"from bot import processes; processes.FIRST_TOOLS_S = 60.0; {ENTRY}"
    chat = await piped(environment(**variables), patient)
    out, _ = await chat.communicate(b"Which tools do you have?\n")
    assert (chat.returncode, out) == (0, b"I have them\n")
    declared = gemini.requests[0].body["tools"][0]["functionDeclarations"]
    assert "bad_do" in [one["name"] for one in declared]
    assert left_behind(tmp_path) == []


async def test_servers_that_hang_or_flood_take_nothing_from_others(
    tmp_path: Path, gemini: GeminiFake
) -> None:
    """Over stdio and HTTP, all at once: the process is ready, answers people, calls a working
    server, and ends."""
    variables = with_servers(tmp_path, gemini, REAL)
    entries = json.loads((tmp_path / "mcp.json").read_text("utf-8"))["mcpServers"]
    for kind in ("spam", "asks", "flood"):
        config = Hostile(tmp_path / f"{kind}.json").says(tools=[listed("do")], **{kind: True})
        entries[kind] = {"command": config.command, "args": [*config.args]}
    async with AsyncExitStack() as stack:
        for kind in ("spam", "returns", "asks", "ends", "grows"):
            entries[f"http {kind}"] = {"url": await stack.enter_async_context(flood(kind))}
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": entries}), "utf-8")
        gemini.call("works_greet", {"name": "Hanako"})
        gemini.say("It greets you")
        running = await stack.enter_async_context(kaiwa(tmp_path, "run", **variables))
        assert await running.get("/readyz") == 200
        await until(lambda: "works" in [line["server"] for line in running.log("mcp.connected")])
        await running.say(TALK, "Have the server greet me, I am Hanako")
        assert await running.answers(TALK, 1) == ["It greets you"]
        assert await running.get("/readyz") == 200
        hanging = Hostile(tmp_path / "script.json").child
        assert is_alive(hanging)
        assert await running.stop() == 0
    reported = gemini.requests[1].body["contents"][-1]["parts"][0]["functionResponse"]["response"]
    assert reported == {"output": {"server": "works", "text": "Hello, Hanako!"}}
    assert left_behind(tmp_path) == []
    assert not is_alive(hanging)
