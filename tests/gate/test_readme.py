"""The README's tool is a real one: written down as it stands there, it works."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

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


# One process makes all calls: its start is what takes long.
CALLING = """
import io, json, sys
from contextlib import redirect_stdout
from bot.cli.main import main
for arguments in sys.argv[1:]:
    sys.argv = ["kaiwa", "tools", "call", "roll_dice", arguments]
    printed, code = io.StringIO(), None
    with redirect_stdout(printed):
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    print(json.dumps([code, json.loads(printed.getvalue())]))
"""


def call(checkout: Path, *arguments: str) -> list[tuple[int, dict[str, Any]]]:
    """Exit code and result of each call by the copy's command line."""
    called = subprocess.run(
        [sys.executable, "-c", CALLING, *arguments],
        cwd=checkout,
        env={"PATH": "/usr/bin:/bin", "DICE_MOST": "3"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert called.returncode == 0, called.stderr
    return [tuple(json.loads(line)) for line in called.stdout.splitlines()]


def test_the_readmes_tool_can_be_called(checkout: Path) -> None:
    """The command the README shows gives two dice; DICE_MOST reaches the tool's Config, and a
    ToolError comes back as a result; what the schema does not allow never reaches the tool."""
    rolled, too_many, none = call(checkout, '{"count": 2}', '{"count": 4}', '{"count": 0}')
    assert rolled[0] == 0
    assert len(rolled[1]["rolls"]) == 2
    assert set(rolled[1]["rolls"]) <= set(range(1, 7))
    assert too_many == (1, {"error": "at most 3 dice at once"})
    assert none[1]["error"].startswith("invalid parameters: count: ")
