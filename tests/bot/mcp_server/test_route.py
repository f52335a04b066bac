"""``POST /mcp``: the SDK's own client lists and calls the tools that only read; whatever else is
sent is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.middleware import Middleware

from bot import texts
from bot.cli.new_tool import write_tool
from bot.errors import SettingsError
from bot.mcp_server.route import mcp_route
from bot.plugins import open_tools
from bot.settings import load
from bot.telemetry import Metrics
from bot.web.guard import Guard
from bot.web.port import listen
from bot.web.server import serving
from bot.web.signin import SignIn
from tests.fakes.wttr import WttrFake
from tests.toolset.doer import PARAMETERS, RESPONSE, Doer
from toolset.tool import ValidatedTool

TOKEN = "a-long-token-of-the-console"
JSON_TYPES = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
BEARER = {"Authorization": f"Bearer {TOKEN}"}
LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ODD = '''"""Tools with odd answers."""

from toolset.shown import Shown, ToolFile
from toolset.tool import NoConfig, ToolError


class _Odd:
    Config = NoConfig

    @classmethod
    def create(cls, http, config):
        return cls()


class Long(_Odd):
    name = "long"
    risk = "low"
    description = "A text that is too long. Use it never."

    async def call(self, arguments, context):
        return {"text": "あ" * 30_000}


class Half(_Odd):
    name = "half"
    risk = "low"
    description = "Half a character. Use it never."

    async def call(self, arguments, context):
        if arguments["in_error"]:
            raise ToolError("no \\ud83d")
        return {"text": "\\ud83d"}


class Chart(_Odd):
    name = "chart"
    risk = "low"
    description = "A picture. Use it never."

    async def call(self, arguments, context):
        picture = ToolFile("chart.png", "image/png", b"PNG", "a line")
        table = ToolFile("a.csv", "text/csv", b"1,2", "1 and 2")
        return Shown({"text": context.user}, [picture, table])


class Act(_Odd):
    name = "act"
    risk = "high"
    description = "Does something. Use it never."

    async def call(self, arguments, context):
        return {"text": "done"}
'''
LITTLE = {
    "type": "object",
    "properties": {"in_error": {"type": "boolean"}},
    "additionalProperties": False,
}
A_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
HOOK = '''"""A hook."""

from bot.agent.hooks import Abort, Hook, Refuse


class Strict(Hook):
    async def before(self, call, context):
        if call.name == "chart":
            return Refuse("no pictures")
        return Abort("for the operator") if call.name == "calculate" else None
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wttr: WttrFake) -> Path:
    """An operator's folder with odd tools; the weather is a stand-in's."""
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "odd.py").write_text(ODD, "utf-8")
    for name in ("long", "half", "chart", "act"):
        schemas = folder / "schemas" / name
        schemas.mkdir(parents=True)
        (schemas / "parameters.json").write_text(json.dumps(LITTLE), "utf-8")
        (schemas / "response.json").write_text(json.dumps(A_TEXT), "utf-8")
    monkeypatch.setenv("TOOLS_DIR", str(folder))
    monkeypatch.setenv("WORKSPACE_DIR", str(tmp_path / "workspaces"))
    return folder


@asynccontextmanager
async def server(token: str = TOKEN, metrics: Metrics | None = None) -> AsyncIterator[str]:
    """The route on a port of this machine, behind the guard that stands before the page; its base
    URL."""
    settings = load().model_copy(update={"console_token": SecretStr(token)})
    catalogue = texts.load()
    signin = SignIn(settings.console_token, SecretStr(""), catalogue, "Kaiwa")
    guard = Middleware(Guard, signin=signin, texts=catalogue, language="en")
    async with open_tools(settings) as tools:
        app = Starlette(routes=[mcp_route(tools, settings, metrics or Metrics(), guard)])
        with listen("127.0.0.1", 0) as sock:
            async with serving(app, sock):
                yield f"http://127.0.0.1:{sock.getsockname()[1]}"


@asynccontextmanager
async def client(mode: str = "auto") -> AsyncIterator[Client]:
    """The SDK's client, signed in."""
    async with (
        server() as base_url,
        httpx2.AsyncClient(headers=BEARER) as http,
        Client(streamable_http_client(f"{base_url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdks_client_lists_what_only_reads_and_calls_it(
    mode: str, wttr: WttrFake
) -> None:
    """Both generations of the protocol; nothing that acts, writes or needs a conversation is
    there."""
    wttr.place("Tokyo", temp=21)
    async with client(mode) as mcp:
        listed = {tool.name: tool for tool in (await mcp.list_tools()).tools}
        assert {"get_weather", "calculate", "chart"} <= listed.keys()
        absent = {
            "act",
            "set_reminder",
            "list_reminders",
            "remember",
            "show_list",
            "tick",
            "read_file",
            "run_command",
        }
        assert listed.keys() & absent == set()
        weather = listed["get_weather"]
        assert weather.input_schema["required"] == ["location"]
        assert weather.output_schema is not None
        assert weather.annotations is not None
        assert weather.annotations.read_only_hint
        result = await mcp.call_tool("get_weather", {"location": "Tokyo"})
        assert not result.is_error
        assert result.structured_content["current_temp_c"] == "21"
        (text,) = result.content
        assert text.type == "text"
        assert json.loads(text.text) == result.structured_content


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("get_weather", {"location": ""}, "invalid parameters: location: "),
    ("get_weather", {}, "invalid parameters: 'location' is a required property"),
    ("get_weather", {"location": "Atlantis"}, ""),
    ("act", {}, "unknown tool: act. Available tools: "),
    ("remember", {"text": "poison"}, "unknown tool: remember. "),
    ("x" * 5000, {}, "unknown tool: "),
    ("long", {}, '{"text": "あああ'),
    ("half", {"in_error": False}, "half failed unexpectedly"),
    ("half", {"in_error": True}, "no ?"),
]


async def test_what_goes_wrong_is_an_error_that_a_model_can_act_on() -> None:
    """In the result, not in the protocol; a text that was cut would not fit what the tool
    promises, and half a character could not be sent."""
    async with client() as mcp:
        for name, arguments, text in WRONG:
            result = await mcp.call_tool(name, arguments)
            assert (result.is_error, result.structured_content) == (True, None)
            (spoken,) = result.content
            assert spoken.type == "text"
            assert spoken.text.startswith(text)
            assert len(spoken.text) < 70_000


async def test_a_picture_comes_beside_the_result() -> None:
    """Another file comes in words; nobody but the operator asks."""
    async with client() as mcp:
        result = await mcp.call_tool("chart", {})
    assert result.structured_content == {"text": "operator"}
    _, picture, table = result.content
    assert picture.type == "image"
    assert (picture.mime_type, picture.data) == ("image/png", "UE5H")
    assert table.type == "text"
    assert table.text == "1 and 2"


async def test_calls_are_counted_as_in_a_turn() -> None:
    """By tool and outcome; names that are no tool's are one."""
    metrics = Metrics()
    async with (
        server(metrics=metrics) as base_url,
        httpx.AsyncClient(base_url=base_url, headers=BEARER) as http,
    ):
        for name, arguments in (
            ("calculate", {"expression": "1+1"}),
            ("calculate", {}),
            ("nobody", {}),
        ):
            call = {
                **LIST,
                "method": "tools/call",
                "params": {"name": name, "arguments": arguments},
            }
            assert (await http.post("/mcp", json=call, headers=JSON_TYPES)).status_code == 200
    counted = [
        line
        for line in metrics.exposition().decode().splitlines()
        if line.startswith("kaiwa_tool_calls_total")
    ]
    assert counted == [
        'kaiwa_tool_calls_total{outcome="ok",tool="calculate"} 1.0',
        'kaiwa_tool_calls_total{outcome="error",tool="calculate"} 1.0',
        'kaiwa_tool_calls_total{outcome="error",tool="unknown"} 1.0',
    ]


async def test_hooks_are_run_as_in_a_turn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the operator refuses is refused here, too."""
    (folder / "_strict.py").write_text(HOOK, "utf-8")
    monkeypatch.setenv("HOOKS", "_strict:Strict")
    async with client() as mcp:
        refused = await mcp.call_tool("chart", {})
        aborted = await mcp.call_tool("calculate", {"expression": "1+1"})
        assert not (await mcp.call_tool("get_current_time", {})).is_error
    assert [
        (one.is_error, one.content[0].type, getattr(one.content[0], "text", ""))
        for one in (refused, aborted)
    ] == [
        (True, "text", "no pictures"),
        (True, "text", "refused"),
    ]


async def test_rules_take_tools_away_and_add_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that acts is not served, whatever a rule calls its risk."""
    rule = """[[rule]]
channel = "mcp"
tools = ["calculate", "act", "chart"]
risk = { act = "low", chart = "high" }
"""
    (tmp_path / "rules.toml").write_text(rule, "utf-8")
    monkeypatch.setenv("TOOLS_ALLOW", str(tmp_path / "rules.toml"))
    async with client() as mcp:
        assert [tool.name for tool in (await mcp.list_tools()).tools] == ["calculate"]
        assert (await mcp.call_tool("act", {})).is_error


async def test_many_tools_are_all_served_but_none_of_other_servers(folder: Path) -> None:
    """Also where a model would get a search for them; a server's own clients can ask that
    server."""
    for number in range(25):
        write_tool(f"shout_{number}", folder)
    from bot.mcp_server.server import ToolServer  # noqa: PLC0415 -- what the route loads

    async with open_tools(load()) as tools:
        tools.replace("other", [ValidatedTool(Doer(), PARAMETERS, RESPONSE, own=False)])
        assert {"doer", "find_tools"} <= tools.keys()
        async with Client(ToolServer(tools, load(), Metrics()).server) as mcp:
            names = {tool.name for tool in (await mcp.list_tools()).tools}
            assert {f"shout_{number}" for number in range(25)} <= names
            assert names & {"doer", "find_tools"} == set()
            for name in ("doer", "find_tools"):
                assert (await mcp.call_tool(name, {"do": "it"})).is_error


async def test_without_a_token_there_is_nothing(tmp_path: Path) -> None:
    """Whoever asks, also from this machine."""
    async with server(token="") as base_url, httpx.AsyncClient(base_url=base_url) as http:
        assert (await http.post("/mcp", json=LIST, headers=JSON_TYPES)).status_code == 404
        assert (await http.get("/mcp")).status_code == 404


ASKING: list[tuple[dict[str, str], int]] = [
    ({}, 401),
    ({"Authorization": "Bearer wrong"}, 401),
    ({"Authorization": f"Basic {TOKEN}"}, 401),
    ({**BEARER, "Origin": "https://evil.example"}, 403),
    ({**BEARER, "Origin": "null"}, 403),
    ({**BEARER, "Host": "rebound.example", "Origin": "http://127.0.0.1"}, 403),
    ({**BEARER, "Sec-Fetch-Site": "cross-site"}, 403),
    ({"Host": "rebound.example", "Origin": "http://rebound.example"}, 401),
    (BEARER, 200),
]


async def test_only_programs_with_the_token_are_answered() -> None:
    """A page of another site is refused even with it; there is no stream and no session."""
    async with server() as base_url, httpx.AsyncClient(base_url=base_url) as http:
        for headers, status in ASKING:
            answered = await http.post("/mcp", json=LIST, headers=JSON_TYPES | headers)
            assert (answered.status_code, "tools" in answered.text) == (status, status == 200)
        for method in ("GET", "DELETE", "PUT"):
            answered = await http.request(method, "/mcp", headers=JSON_TYPES | BEARER)
            assert answered.status_code == 405


def _nested(depth: int) -> bytes:
    inside = b'{"a":' * depth + b"1" + b"}" * depth
    return (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calculate","arguments":'
        + inside
        + b"}}"
    )


HOSTILE = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"\xff\xfe",
    b'"text"',
    b"[" * 100_000,
    json.dumps([LIST] * 100).encode(),
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800","arguments":{"\\udfff":1}}}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":NaN,"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calculate","arguments":NaN}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}',
    b'{"jsonrpc":"2.0","id":1e999,"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"tools/list"}',
    b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    _nested(50),
    _nested(3_000),
]


async def test_hostile_bodies_are_refused_and_break_nothing() -> None:
    """No failure of the server's own, and the next request is answered; a body without end is
    refused, whether it says how long it is or not."""

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b" " * 16_384

    async with (
        server() as base_url,
        httpx.AsyncClient(base_url=base_url, headers=BEARER | JSON_TYPES) as http,
    ):
        for version in ("", "2025-06-18", "2026-07-28", "nonsense"):
            headers = {"MCP-Protocol-Version": version} if version else {}
            for body in HOSTILE:
                hostile = await http.post("/mcp", content=body, headers=headers)
                assert hostile.status_code < 500, body[:200]
                assert len(hostile.content) < 10_000, body[:200]
                is_error = '"result":' not in hostile.text or '"isError":true' in hostile.text
                assert is_error, body[:200]
        assert (await http.post("/mcp", content=b" " * 300_000)).status_code == 413
        assert (await http.post("/mcp", content=endless())).status_code == 413
        assert (await http.post("/mcp", json=LIST)).status_code == 200


async def test_a_hook_that_cannot_be_loaded_is_no_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server would not have started with it."""
    monkeypatch.setenv("HOOKS", "_missing:Strict")
    write_tool("shout", folder)
    from bot.mcp_server.server import ToolServer  # noqa: PLC0415 -- what the route loads

    async with open_tools(load()) as tools:
        with pytest.raises(SettingsError, match="HOOKS"):
            ToolServer(tools, load(), Metrics())
