"""The README's tool is a real one: written down as it stands there, it works."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = re.compile(
    r"`((?:toolset|schemas)/[\w/]+\.(?:py|json))`.*?\n```(?:python|json)\n(.*?)```", re.S
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the code with the README's files added."""
    for folder in ("bot", "toolset", "schemas"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    files = FILE.findall((ROOT / "README.md").read_text("utf-8"))
    assert [name for name, _ in files] == [
        "toolset/dice.py",
        "schemas/roll_dice/parameters.json",
        "schemas/roll_dice/response.json",
    ]
    for name, text in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def kaiwa(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The copy's command line."""
    return subprocess.run(
        [sys.executable, "-c", "from bot.cli.main import main; main()", *arguments],
        cwd=checkout,
        env={"PATH": "/usr/bin:/bin", "DICE_MOST": "3"},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_readmes_tool_can_be_called(checkout: Path) -> None:
    """The command the README shows gives two dice."""
    called = kaiwa(checkout, "tools", "call", "roll_dice", '{"count": 2}')
    assert called.returncode == 0, called.stderr
    rolls = json.loads(called.stdout)["rolls"]
    assert len(rolls) == 2
    assert set(rolls) <= set(range(1, 7))


def test_the_readmes_tool_reads_its_own_variable(checkout: Path) -> None:
    """DICE_MOST reaches the tool's Config, and a ToolError comes back as a result."""
    called = kaiwa(checkout, "tools", "call", "roll_dice", '{"count": 4}')
    assert (called.returncode, json.loads(called.stdout)) == (
        1,
        {"error": "at most 3 dice at once"},
    )


def test_the_readmes_schema_is_enforced(checkout: Path) -> None:
    """What the schema does not allow never reaches the tool."""
    called = kaiwa(checkout, "tools", "call", "roll_dice", '{"count": 0}')
    assert json.loads(called.stdout)["error"].startswith("invalid parameters: count: ")
