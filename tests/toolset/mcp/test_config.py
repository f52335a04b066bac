"""The file of servers is the one that other clients read; what is wrong in it is named, with the
mend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolset.mcp.config import ServerConfig, read_servers
from toolset.tool import ToolSetupError


def read(folder: Path, content: Any, trusted: tuple[str, ...] = ()) -> tuple[ServerConfig, ...]:
    """The servers of a file with this content."""
    path = folder / "mcp.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return read_servers(path, trusted)


def test_a_command_and_an_address(tmp_path: Path) -> None:
    """Both kinds of servers, in the order of the file; only the named one is trusted."""
    entries = {
        "files": {"command": "npx", "args": ["-y", "files"], "env": {"KEY": "secret"}},
        "web": {
            "type": "http",
            "url": "https://example.com/mcp?v=1",
            "headers": {"Authorization": "Bearer token"},
        },
    }
    files, web = read(tmp_path, {"mcpServers": entries}, ("web",))
    assert (files.name, files.command, files.args, dict(files.env)) == (
        "files",
        "npx",
        ("-y", "files"),
        {"KEY": "secret"},
    )
    assert (web.name, web.url, dict(web.headers)) == (
        "web",
        "https://example.com/mcp?v=1",
        {"Authorization": "Bearer token"},
    )
    assert (files.is_trusted, web.is_trusted) == (False, True)
    assert [*files.secrets, *web.secrets] == ["secret", "Bearer token"]
    assert "secret" not in repr(files) + repr(web)


def test_no_server_is_no_error(tmp_path: Path) -> None:
    """An empty object names none."""
    assert read(tmp_path, {"mcpServers": {}}) == ()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "is not JSON"),
        ("[]", "has no object mcpServers; write"),
        ({"mcpServers": []}, "has no object mcpServers"),
        ({"mcpServers": {}, "inputs": []}, "the key 'inputs' is unknown; remove it"),
        (
            {"mcpServers": {f"s{number}": {"command": "x"} for number in range(33)}},
            "names 33 servers; 32 are possible",
        ),
        ({"mcpServers": {"9": {"command": "x"}}}, "server '9': begin its name with a letter"),
        ({"mcpServers": {"s": {}}}, "server 's': give it either command or url"),
        ({"mcpServers": {"s": []}}, "give it either command or url"),
        (
            {"mcpServers": {"s": {"command": "x", "url": "https://x"}}},
            "give it either command or url",
        ),
        (
            {"mcpServers": {"s": {"command": "x", "cwd": "/"}}},
            "the key 'cwd' is unknown; remove it (known: command",
        ),
        (
            {"mcpServers": {"s": {"command": ""}}},
            "command: String should have at least 1 character",
        ),
        (
            {"mcpServers": {"s": {"command": "x", "args": "-y"}}},
            "args: Input should be a valid list",
        ),
        (
            {"mcpServers": {"s": {"command": "x", "env": {"A": 1}}}},
            "env.A: Input should be a valid string",
        ),
        ({"mcpServers": {"s": {"command": "x\0"}}}, "command: has a NUL character"),
        ({"mcpServers": {"s": {"command": "x", "env": {"A": "\0"}}}}, "env: has a NUL character"),
        ({"mcpServers": {"s": {"url": "ftp://x"}}}, "url: write it as https://host/path"),
        (
            {"mcpServers": {"s": {"url": "https://user:pw@x/"}}},
            "url: write it as https://host/path",
        ),
        (
            {"mcpServers": {"s": {"url": "https://x", "type": "sse"}}},
            "type: Input should be 'http' or 'streamable-http'",
        ),
        (
            {"mcpServers": {"s": {"url": "https://x", "headers": {"A": "b\nc"}}}},
            "headers: a name or a value cannot be sent",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: Any, complaint: str) -> None:
    """With the file, the server, the key and the mend, and without values."""
    with pytest.raises(ToolSetupError) as refused:
        read(tmp_path, content)
    assert complaint in str(refused.value)
    assert str(tmp_path / "mcp.json") in str(refused.value)


def test_each_server_has_a_beginning_of_names_of_its_own(tmp_path: Path) -> None:
    """Of two that begin alike the longer one is no name of the other server; two that are the same
    stop the start."""
    x = {"command": "x"}
    short, long, _ = read(tmp_path, {"mcpServers": {"gh": x, "gh ent": x, "a": x}})
    assert (short.prefix, short.others, long.others) == ("gh_", ("gh_ent_",), ())
    with pytest.raises(
        ToolSetupError, match=r"the tools of 'gh ent' and 'gh\.ent' get the same names; rename one"
    ):
        read(tmp_path, {"mcpServers": {"gh ent": x, "gh.ent": x}})


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A folder is none."""
    with pytest.raises(ToolSetupError, match="cannot be read: Is a directory; name a JSON file"):
        read_servers(tmp_path)
