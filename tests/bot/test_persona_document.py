"""docs/persona.md is true: its example is what the model is sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.channels.console.channel import STYLE
from bot.cli.main import cli
from bot.prompts import read_prompt
from tests.project import ROOT


@pytest.mark.usefixtures("restored_logging")
def test_the_example_is_the_beginning_of_the_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the printed command; the rules about data and the channel's style stand behind it."""
    text = (ROOT / "docs" / "persona.md").read_text("utf-8")
    example = text.split("```markdown\n")[1].split("```")[0].strip()
    command = text.split("```sh\n")[1].splitlines()[0]
    name, file, _, *words = command.split()
    (tmp_path / "persona.md").write_text(example, "utf-8")
    monkeypatch.chdir(tmp_path)
    for variable in (name, file):
        monkeypatch.setenv(*variable.split("="))
    shown = CliRunner().invoke(cli, words)
    parts = (example.replace("{bot_name}", "Umi"), read_prompt("data"), STYLE)
    assert (shown.exit_code, shown.stdout) == (0, "\n\n".join(parts) + "\n")
    assert "You are Umi, who " in shown.stdout
