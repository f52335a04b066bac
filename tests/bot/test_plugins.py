"""What an operator adds: tools of a folder, and hooks; what cannot be loaded is one line."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog

from bot import log
from bot.agent.hooks import Hook
from bot.cli.new_tool import write_tool
from bot.errors import SettingsError
from bot.ops.mcp_servers import mcp_servers, open_mcp
from bot.plugins import load_hooks, open_tools
from bot.settings import load

QUIET = """
from bot.agent.hooks import Hook


class Quiet(Hook):
    pass


class Picky(Hook):
    def __init__(self, needed):
        pass


class Other:
    pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An operator's folder, with a module of hooks in it."""
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "_quiet.py").write_text(QUIET, "utf-8")
    monkeypatch.setenv("TOOLS_DIR", str(folder))
    return folder


async def test_the_operators_tools_are_offered_beside_kaiwas_own(folder: Path) -> None:
    """Each knows where it comes from."""
    written = write_tool("shout", folder)
    async with open_tools(load()) as tools:
        assert tools["shout"].origin == str(written.tool)
        assert tools["get_weather"].origin == "toolset/weather.py"


async def test_a_tool_that_cannot_be_loaded_stops_start_up(folder: Path) -> None:
    """With its file and the reason."""
    (folder / "broken.py").write_text("1 / 0", "utf-8")
    reason = (
        rf"tools: {folder}/broken\.py cannot be loaded: ZeroDivisionError: division by zero "
        r"\(line 1\)"
    )
    with pytest.raises(SettingsError, match=reason):
        async with open_tools(load()):
            pass


async def test_read_only_offers_nothing_that_acts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator's tools are no exception."""
    written = write_tool("shout", folder)
    written.tool.write_text(written.tool.read_text("utf-8").replace('= "low"', '= "high"'), "utf-8")
    async with open_tools(load()) as tools:
        assert tools["shout"].definition.risk == "high"
    monkeypatch.setenv("READ_ONLY", "1")
    async with open_tools(load()) as tools:
        assert "shout" not in tools


async def test_the_log_knows_a_tools_keys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever a service writes into an error."""
    monkeypatch.setenv("BRAVE_API_KEY", "BSA-secret")
    log.configure("INFO", [])
    async with open_tools(load()):
        structlog.stdlib.get_logger("bot.x").error("failed", reason="BSA-secret")
    assert "BSA-secret" not in capsys.readouterr().err


async def test_rules_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong file stops the start, and names itself."""
    (tmp_path / "rules.toml").write_text('[[rule]]\ntools = ["calculate"]', "utf-8")
    monkeypatch.setenv("TOOLS_ALLOW", str(tmp_path / "rules.toml"))
    async with open_tools(load()) as tools:
        assert list(tools.of_place("line:u:x", "U")) == ["calculate"]
    (tmp_path / "rules.toml").write_text("[[rule", "utf-8")
    with pytest.raises(SettingsError, match=r"TOOLS_ALLOW: .*rules\.toml cannot be read"):
        async with open_tools(load()):
            raise AssertionError


def test_a_folder_that_is_none_stops_start_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rather than no tools at all."""
    monkeypatch.setenv("TOOLS_DIR", "nowhere")
    with pytest.raises(SettingsError, match="TOOLS_DIR: "):
        load()


def test_mcp_servers_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MCP_TRUST names those whose word counts."""
    assert mcp_servers(load()) == ()
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}', "utf-8")
    monkeypatch.setenv("MCP_SERVERS", str(file))
    monkeypatch.setenv("MCP_TRUST", "b")
    assert [(server.name, server.is_trusted) for server in mcp_servers(load())] == [
        ("a", False),
        ("b", True),
    ]
    monkeypatch.setenv("MCP_TRUST", "b,c")
    with pytest.raises(SettingsError, match="MCP_TRUST: c is no server in MCP_SERVERS"):
        mcp_servers(load())


async def test_a_wrong_file_of_mcp_servers_stops_start_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line that names it; so does one that is not there."""
    file = tmp_path / "mcp.json"
    file.write_text("{}", "utf-8")
    monkeypatch.setenv("MCP_SERVERS", str(file))
    async with open_tools(load()) as tools:
        with pytest.raises(SettingsError, match=rf"MCP_SERVERS: {file} has no object mcpServers"):
            async with open_mcp(load(), tools, None):
                pass
    monkeypatch.setenv("MCP_SERVERS", str(tmp_path / "none.json"))
    with pytest.raises(SettingsError, match="MCP_SERVERS: there is no such file"):
        load()


def test_hooks_are_loaded_in_their_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the operator's folder, and from whatever can be imported."""
    monkeypatch.setenv("HOOKS", "_quiet:Quiet, bot.agent.hooks:Hook")
    quiet, plain = load_hooks(load())
    assert (type(quiet).__name__, type(plain)) == ("Quiet", Hook)
    assert isinstance(quiet, Hook)


def test_without_hooks_there_are_none() -> None:
    """The default."""
    assert load_hooks(load()) == []


@pytest.mark.parametrize(
    ("named", "complaint"),
    [
        (
            "_quiet:Other",
            "HOOKS: _quiet:Other must be module:Class, and the class a bot.hooks.Hook",
        ),
        ("_quiet:Nobody", "HOOKS: _quiet:Nobody must be module:Class"),
        ("_quiet", "HOOKS: _quiet must be module:Class"),
        ("_quiet:Picky", r"HOOKS: _quiet:Picky cannot be loaded: TypeError: .*'needed'"),
        (
            "no_such_module:Quiet",
            "HOOKS: no_such_module:Quiet cannot be loaded: ModuleNotFoundError",
        ),
        (":Quiet", "HOOKS: :Quiet cannot be loaded: ValueError: Empty module name"),
    ],
)
def test_a_hook_that_cannot_be_loaded_stops_start_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch, named: str, complaint: str
) -> None:
    """In one line that names it."""
    monkeypatch.setenv("HOOKS", named)
    with pytest.raises(SettingsError, match=complaint):
        load_hooks(load())
