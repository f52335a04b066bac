"""The command line, called as ``kaiwa`` is, in the process of the test."""

from __future__ import annotations

import io
import os
import sys
import sysconfig
from collections.abc import Callable

import pytest

from bot.cli.main import main

Call = Callable[..., tuple[int, str, str]]


def calling(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command: exit code, output, errors. The shell finds ``kaiwa``."""
    monkeypatch.setenv("PATH", sysconfig.get_path("scripts"), prepend=os.pathsep)

    def call(*arguments: str, typed: str = "", **variables: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["kaiwa", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()  # what the test has logged
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return ended.value.code, *capsys.readouterr()

    return call
