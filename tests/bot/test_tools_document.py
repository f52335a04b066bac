"""``docs/tools.md`` is true: its commands work as they stand there, and so does its hook."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.agent.hooks import Refuse
from bot.cli.main import cli
from bot.plugins import load_hooks
from bot.settings import load
from bot.transcript import ToolCall
from tests.project import ROOT
from tests.toolset.contexts import context
from toolset.tool import ToolOutcome

DOCUMENT = (ROOT / "docs" / "tools.md").read_text("utf-8")

pytestmark = pytest.mark.usefixtures("restored_logging")


def test_its_class_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From nothing to a tool that is called."""
    (block,) = re.findall(r"## A class, for more\n.*?```sh\n(.*?)```", DOCUMENT, re.DOTALL)
    new, call, test = (shlex.split(line) for line in block.splitlines())
    written = CliRunner().invoke(cli, new[1:])
    assert written.exit_code == 0
    monkeypatch.setenv(*call[0].split("="))
    called = CliRunner().invoke(cli, call[2:])
    assert (called.exit_code, called.stdout) == (0, '{\n  "text": "HELLO"\n}\n')
    assert test[:6] == ["make", "dev", "&&", ".venv/bin/python", "-m", "pytest"]
    assert Path(test[6]).is_file()
    assert test[6] in written.stdout


async def test_its_hook_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loaded as it says, it refuses and edits as it says."""
    (hook,) = (
        code for code in re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL) if "(Hook)" in code
    )
    (tmp_path / "_careful.py").write_text(hook, "utf-8")
    monkeypatch.setenv("TOOLS_DIR", str(tmp_path))
    monkeypatch.setenv("HOOKS", "_careful:Careful")
    (careful,) = load_hooks(load())
    command = ToolCall("c1", "run_command", {"command": ["ls"]})
    assert await careful.before(command, context()) == Refuse("commands are run in our Slack only")
    assert await careful.before(ToolCall("c2", "get_weather", {}), context()) is None
    reported = await careful.after(
        command, context(), ToolOutcome({"output": "see intranet.example"})
    )
    assert reported == ToolOutcome.error("the answer holds an address that must not be told")
    assert await careful.after(command, context(), ToolOutcome({"output": "ok"})) == ToolOutcome(
        {"output": "ok"}
    )
