"""Printed commands can be typed as they stand."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from bot.cli.as_typed import as_typed, program

SCRIPTS = Path(sysconfig.get_path("scripts"))
pytestmark = pytest.mark.skipif(
    not (SCRIPTS / "kaiwa").is_file(), reason="kaiwa is not installed here"
)


def test_a_command_is_shown_with_its_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From the project's folder a short one; a word that is no command stays."""
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.chdir(SCRIPTS.parents[1])
    short = f"{SCRIPTS.parent.name}/{SCRIPTS.name}/kaiwa"
    assert program("kaiwa") == short
    assert (
        as_typed("kaiwa outbox list shows them, kaiwa worker")
        == f"{short} outbox list shows them, {short} worker"
    )
    same = (
        "Write /kaiwa help. It works for kaiwa in Test, /usr/bin/kaiwa run, kaiwa_model, kaiwa menu"
    )
    assert as_typed(same) == same
    monkeypatch.chdir(tmp_path)
    assert as_typed("（kaiwa chat --new で新しく）") == f"（{SCRIPTS}/kaiwa chat --new で新しく）"


def test_what_the_shell_finds_is_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an installation, or with the environment activated."""
    monkeypatch.setenv("PATH", f"{SCRIPTS}{os.pathsep}{os.defpath}")
    assert (program("kaiwa"), as_typed("kaiwa doctor")) == ("kaiwa", "kaiwa doctor")


@pytest.mark.process
def test_the_next_steps_of_a_new_tool_run_as_printed(tmp_path: Path) -> None:
    """In a shell that knows nothing of the environment: the call, and the test."""

    def run(command: str) -> str:
        environment = {
            "PATH": os.defpath,
            "HOME": str(tmp_path),
            "KAIWA_DATA_DIR": str(tmp_path / "data"),
        }
        command = command.replace("pytest ", "pytest -q -p no:cacheprovider ")
        shell = ["/bin/sh", "-c", command]
        return subprocess.run(
            shell, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    steps = run(
        f"{sys.executable} -c 'from bot.cli.main import main; main()' tools new shout --dir tools"
    )
    call, test = [line.strip() for line in steps.splitlines() if line.startswith("  ")]
    assert run(call) == '{\n  "result": "HELLO"\n}\n'
    assert "3 passed" in run(test)
