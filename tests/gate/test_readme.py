"""The README is short, and its tool is a real one: written down as it stands there, it works."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.project import ROOT

README = (ROOT / "README.md").read_text("utf-8")
MOST_WORDS = 1_300
MOST_BYTES = 120_000  # of its picture
TOOL = re.compile(r"`(my_tools/\w+\.py)`:\n\n```python\n(.*?)```\n.*?```sh\n(.*?)```", re.DOTALL)


def test_it_can_be_read_in_a_few_minutes() -> None:
    """Words as wc counts them; the picture is there, and small."""
    assert len(README.split()) <= MOST_WORDS
    pictures = re.findall(r"!\[[^\]]*\]\((docs/images/[^)]+)\)", README)
    assert pictures == ["docs/images/page.png"]
    assert (ROOT / pictures[0]).stat().st_size <= MOST_BYTES


def test_its_tool_works_as_printed(tmp_path: Path) -> None:
    """Twelve lines in a file, and the command below them."""
    ((name, code, commands),) = TOOL.findall(README)
    assert len(code.splitlines()) == 12
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(code, "utf-8")
    setting, program, *arguments = shlex.split(commands.splitlines()[0])
    assert program == ".venv/bin/kaiwa"
    variable, _, folder = setting.partition("=")
    called = subprocess.run(
        [sys.executable, "-c", "from bot.cli.main import main; main()", *arguments],
        cwd=tmp_path,
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), variable: folder},
        capture_output=True,
        text=True,
    )
    assert called.returncode == 0, called.stderr
    rolled = json.loads(called.stdout)["result"]
    assert len(rolled) == 2
    assert set(rolled) <= set(range(1, 7))
