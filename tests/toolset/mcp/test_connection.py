"""A connection to a real server, over stdio and over streamable HTTP: listed, called, followed,
lost and made again."""

from __future__ import annotations

import time
from types import MappingProxyType

import pytest

from tests.fakes.mcp_server import PNG
from tests.toolset.mcp.servers import REAL, MemoryPins, Served, serving
from tests.waiting import until
from toolset.mcp.config import ServerConfig
from toolset.tool import FOREIGN_PER_TURN, ToolOutcome

TOKEN = MappingProxyType({"Authorization": "Bearer right"})
NAMES = ["add", "greet", "launch", "draw", "fail", "wait", "environment", "die", "learn"]

pytestmark = pytest.mark.process


async def check_calls(served: Served) -> None:
    """What both transports do alike."""
    assert list(served.tools) == [f"real_{name}" for name in NAMES]
    assert {tool.per_turn for tool in served.tools.values()} == {FOREIGN_PER_TURN}
    assert {name for name, tool in served.tools.items() if tool.definition.risk == "high"} == {
        "real_launch",
        "real_learn",
    }
    assert await served.call("real_add", a=1, b=2) == ToolOutcome(
        {"server": "real", "data": {"total": 3}}
    )
    assert await served.text("real_greet", name="世界") == "Hello, 世界!"
    assert (await served.call("real_draw")).files[0].data == PNG
    failed = await served.call("real_fail")
    assert failed == ToolOutcome.error("real says: Error executing tool fail")
    refused = await served.call("real_add", a="one")
    assert refused.response["error"].startswith("invalid parameters: ")


async def test_over_stdio() -> None:
    """The server is a process, without the environment of Kaiwa."""
    config = ServerConfig(
        "real", REAL.command, REAL.args, MappingProxyType({"OWN": "1"}), is_trusted=True
    )
    async with serving(config) as served:
        assert served.server.cause == ""
        await check_calls(served)
        given = set((await served.text("real_environment")).split())
    assert "OWN" in given
    assert given <= {"OWN", "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LC_CTYPE"}


async def test_over_http(address: str) -> None:
    """With the operator's headers."""
    async with serving(ServerConfig("real", url=address, headers=TOKEN, is_trusted=True)) as served:
        assert served.server.cause == ""
        await check_calls(served)


async def test_refused_headers_are_told(address: str) -> None:
    """The doctor shows the cause."""
    async with serving(ServerConfig("real", url=address)) as served:
        assert served.server.cause == "HTTP 401: the server refuses the headers in MCP_SERVERS"
        assert list(served.tools) == []


@pytest.mark.parametrize(
    ("config", "cause"),
    [
        (ServerConfig("s", "/nowhere/at-all"), "No such file or directory"),
        (ServerConfig("s", "true"), "MCPError: Connection closed"),
        (
            ServerConfig("s", url="http://127.0.0.1:9/mcp"),
            "ConnectError: All connection attempts failed",
        ),
    ],
    ids=["no command", "no server", "no address"],
)
async def test_a_server_that_is_not_there(config: ServerConfig, cause: str) -> None:
    """Costs nothing but its tools."""
    async with serving(config) as served:
        assert served.server.cause == cause
        assert list(served.tools) == []


async def test_new_tools_are_offered_when_the_server_tells() -> None:
    """Over a subscription, within seconds."""
    async with serving(REAL) as served:
        assert await served.text("real_learn") == "done"
        await until(lambda: "real_learned" in served.tools)
        assert await served.text("real_learned") == "learned"
        assert [one.name for one in served.tools.definitions][-1] == "real_learned"


async def test_a_server_that_dies_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call that killed it has an unknown outcome; the next one waits for the new process."""
    # A busy machine takes more than the usual five seconds to start one.
    monkeypatch.setattr("toolset.mcp.connection.CALL_WAIT_S", 20.0)
    async with serving(REAL) as served:
        outcome = await served.call("real_die")
        assert outcome.response == {"error": "the connection to real broke: the outcome is unknown"}
        assert await served.text("real_greet", name="again") == "Hello, again!"


async def test_a_call_ends_at_its_deadline() -> None:
    """And others go on meanwhile."""
    async with serving(REAL) as served:
        began = time.monotonic()
        outcome = await served.call("real_wait", within=0.3, seconds=30)
        assert time.monotonic() - began < 5
        assert outcome.response == {"error": "timed out after 0.3 s"}
        assert await served.text("real_greet", name="you") == "Hello, you!"


async def test_a_changed_tool_is_asked_for_until_it_is_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was pinned first counts, also after a restart."""
    monkeypatch.setattr("toolset.mcp.connection.REFRESH_SOON_S", 0.1)
    pins = MemoryPins({"greet": "0" * 32})
    async with serving(REAL, pins) as served:
        assert served.tools["real_greet"].definition.risk == "high"
        assert served.tools["real_add"].definition.risk == "low"
        assert served.server.catalog.changed == ("greet",)
        del pins.pins["greet"]
        await until(lambda: served.tools["real_greet"].definition.risk == "low")


async def test_without_the_store_nothing_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is back."""
    monkeypatch.setattr("toolset.mcp.connection.REFRESH_SOON_S", 0.1)
    pins = MemoryPins(away=True)
    async with serving(REAL, pins) as served:
        assert {tool.definition.risk for tool in served.tools.values()} == {"high"}
        pins.away = False
        await until(lambda: served.tools["real_add"].definition.risk == "low")
