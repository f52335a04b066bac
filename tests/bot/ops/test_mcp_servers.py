"""MCP servers, as an operator sees them: on the command line, in the doctor, and while Kaiwa
runs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from bot.cli.doctor import checks_of_mcp
from bot.errors import BadInput
from bot.ops.mcp_servers import accept, check_servers, open_mcp
from bot.plugins import open_tools
from bot.settings import load
from bot.store import Store, open_store
from tests.bot.command_line import Call
from tests.toolset.mcp.servers import REAL, Hostile, listed
from tests.waiting import until
from toolset.mcp.config import ServerConfig

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("restored_logging")]


def write_servers(folder: Path, *configs: ServerConfig) -> None:
    """The file that MCP_SERVERS names."""
    servers = {one.name: {"command": one.command, "args": [*one.args]} for one in configs}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    """Two servers in MCP_SERVERS: ``real`` and ``bad``, both trusted."""
    hostile = Hostile(tmp_path / "script.json")
    write_servers(tmp_path, REAL, hostile.says(tools=[]))
    monkeypatch.setenv("MCP_SERVERS", str(tmp_path / "mcp.json"))
    monkeypatch.setenv("MCP_TRUST", "real,bad")
    return hostile


@pytest.fixture
def alone(hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    """``bad`` alone: the other one takes a second to start, at each look."""
    write_servers(tmp_path, hostile.says(tools=[]))
    monkeypatch.setenv("MCP_TRUST", "bad")
    return hostile


def test_the_list_has_the_servers_tools(hostile: Hostile, call: Call) -> None:
    """With their risk and their server; a server that fails is no error."""
    hostile.says(tools="none")
    code, out, err = call("tools")
    assert (code, err) == (0, "")
    assert "real_greet" in out
    assert "MCP server real" in out


def test_a_tool_of_a_server_can_be_called_by_hand(hostile: Hostile, call: Call) -> None:
    """As any tool."""
    code, out, _ = call("tools", "call", "real_greet", '{"name": "you"}')
    assert (code, json.loads(out)) == (0, {"server": "real", "text": "Hello, you!"})


async def test_the_doctor_shows_each_server(hostile: Hostile, store: Store) -> None:
    """What is offered, and what is not."""
    hostile.says(
        tools=[
            listed("do"),
            listed("odd", inputSchema={"type": "object", "properties": {"a b": {}}}),
        ]
    )
    real, bad = await check_servers(load(), store.tool_pins)
    assert (real.result, real.name, real.detail) == ("ok", "mcp real", "connected, 9 tools")
    left_out = (
        "connected, 1 tool; left out: odd (its argument 'a b' has a name that models cannot use)"
    )
    assert (bad.result, bad.name, bad.detail) == ("warning", "mcp bad", left_out)


async def test_the_doctor_says_why_a_tool_is_not_offered(alone: Hostile, store: Store) -> None:
    """And what an operator can do."""
    alone.says(tools=[listed("do")])
    await check_servers(load(), store.tool_pins)
    alone.says(tools=[listed("do", description="Something else")], endless=True)
    (bad,) = await check_servers(load(), store.tool_pins)
    assert bad.result == "warning"
    assert bad.detail.endswith(
        "it lists more tools than are read; not as first seen, so each call is asked for: do"
    )
    assert bad.fix == "read what they say, then: kaiwa tools accept bad"
    odd = {"type": "object", "properties": {"a b": {}}}
    alone.says(tools=[listed(f"{number}", inputSchema=odd) for number in range(15)])
    (bad,) = await check_servers(load(), store.tool_pins)
    assert "connected, 0 tools; left out: 0 (" in bad.detail
    assert bad.detail.endswith(" and 5 more")
    alone.says(tools=1)
    (bad,) = await check_servers(load(), store.tool_pins)
    assert (bad.result, bad.fix) == (
        "failure",
        "check its entry in the file that MCP_SERVERS names",
    )


async def test_a_tool_whose_name_is_anothers_is_shown(
    hostile: Hostile, store: Store, tmp_path: Path
) -> None:
    """It is left out even where the other server comes later in the file."""
    one = hostile.says(tools=[listed("c_d"), listed("e")])
    other = Hostile(tmp_path / "other.json").says(tools=[listed("d")])
    entries = {
        name: {"command": one.command, "args": [*config.args]}
        for name, config in {"a": one, "a_c": other}.items()
    }
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": entries}), "utf-8")
    settings = load().model_copy(update={"mcp_trust": ()})
    first, second = await check_servers(settings, store.tool_pins)
    assert (
        first.detail
        == "connected, 1 tool; left out: c_d (its name begins like those of another server)"
    )
    assert second.detail == "connected, 1 tool"


async def test_a_tool_with_the_name_of_one_of_ours_is_shown(
    hostile: Hostile, store: Store, tmp_path: Path
) -> None:
    """Ours is offered."""
    config = hostile.says(tools=[listed("weather")])
    entry = {"command": config.command, "args": [*config.args]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"get": entry}}), "utf-8")
    (found,) = await check_servers(load().model_copy(update={"mcp_trust": ()}), store.tool_pins)
    assert found.detail == "connected, 0 tools; left out: get_weather (another tool has its name)"


async def test_accepting_pins_what_is_there_now(alone: Hostile, store: Store) -> None:
    """And says what is new and what has changed."""
    alone.says(tools=[listed("do"), listed("stay")])
    await check_servers(load(), store.tool_pins)
    alone.says(tools=[listed("do", description="New words"), listed("stay"), listed("come")])
    assert await accept(load(), "bad", store.tool_pins) == [
        ("bad_do", "changed", "New words"),
        ("bad_stay", "as before", "Does stay"),
        ("bad_come", "new", "Does come"),
    ]
    (bad,) = await check_servers(load(), store.tool_pins)
    assert (bad.result, bad.detail) == ("ok", "connected, 3 tools")
    alone.says(tools=[listed("x" * 200)])
    await accept(load(), "bad", store.tool_pins)
    assert await store.tool_pins.read("bad") == {}
    alone.says(tools=1)
    with pytest.raises(BadInput, match="bad cannot be read: "):
        await accept(load(), "bad", store.tool_pins)
    with pytest.raises(BadInput, match="no server is named who; MCP_SERVERS names bad"):
        await accept(load(), "who", store.tool_pins)


@pytest.mark.usefixtures("settings")
def test_the_command_accepts(alone: Hostile, call: Call) -> None:
    """It prints what it has pinned."""
    alone.says(tools=[listed("do")])
    code, out, err = call("tools", "accept", "bad")
    assert code == 0
    assert "bad_do" in out
    assert "half a minute" in err


async def test_the_doctor_has_no_line_without_servers() -> None:
    """Nothing is shown of what is off."""
    assert checks_of_mcp(load()) == {}


async def test_the_start_waits_for_no_server(hostile: Hostile, store: Store) -> None:
    """A server that hangs leaves the others to be offered."""
    hostile.says(hangs=True)
    settings = load()
    async with (
        open_tools(settings) as tools,
        open_mcp(settings, tools, store.tool_pins) as servers,
    ):
        assert "real_greet" not in tools
        await until(lambda: "real_greet" in tools)
        assert servers[1].cause == "not connected yet"
        assert tools["real_greet"].definition.risk == "low"


async def test_while_the_store_is_away_nothing_is_trusted(alone: Hostile) -> None:
    """The tools are offered all the same."""
    alone.says(tools=[listed("do")])
    settings = load()
    async with (
        open_store("unix:///nowhere.sock", history_days=1) as away,
        open_tools(settings) as tools,
        open_mcp(settings, tools, away.tool_pins) as servers,
    ):
        await asyncio.gather(*(server.settled.wait() for server in servers))
        assert tools["bad_do"].definition.risk == "high"
